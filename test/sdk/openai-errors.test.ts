import { toFile } from 'openai';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startApp } from '../support/app.ts';
import type { RunningApp } from '../support/app.ts';
import { chatLine, chatLines, jsonl } from '../support/batch-lines.ts';
import { createClient, sdks } from './clients.ts';
import type { Client } from './clients.ts';
import { catchError } from './catch-error.ts';

const messages = [{ role: 'user' as const, content: 'hello' }];
const batch = { endpoint: '/v1/chat/completions', completion_window: '24h' } as const;
const someId = 'batch_0193a2b4c5d67e8f9a0b1c2d3e4f5a6b';

interface Raised {
  status: number;
  code: string;
  type: string;
  param: string | null;
  requestID: string;
  message: string;
}

describe.each(sdks)('errors through $name', ({ sdk }) => {
  let running: RunningApp;
  let client: Client;
  let narrow: Client;

  beforeAll(async () => {
    running = await startApp({
      limits: { bytesPerBatch: 100_000, openBatchesPerOrg: 2 },
      keys: [{ org: 'narrow', scopes: ['inference'], models: ['another'] }],
    });
    client = createClient(sdk, running);
    narrow = createClient(sdk, { ...running, key: running.keys[0]! });
  });

  afterAll(() => running?.stop());

  const raised = catchError<Raised>;

  const upload = async (content: string) =>
    client.files.create({ file: await toFile(Buffer.from(content), 'in.jsonl'), purpose: 'batch' });

  it('401 for an unknown key', async () => {
    const stranger = createClient(sdk, { ...running, key: 'sk-nobody' });
    const error = await raised(stranger.models.list(), sdk.AuthenticationError);
    expect(error).toMatchObject({ status: 401, code: 'invalid_api_key', type: 'authentication_error' });
  });

  it('403 for a key without the scope, and for a model that it may not use', async () => {
    const files = await raised(narrow.files.list(), sdk.PermissionDeniedError);
    expect(files).toMatchObject({ status: 403, code: 'permission_denied', type: 'permission_error' });
    const chat = narrow.chat.completions.create({ model: 'tiny', messages });
    expect(await raised(chat, sdk.PermissionDeniedError)).toMatchObject({ code: 'model_not_allowed' });
  });

  it('404 for unknown objects', async () => {
    await raised(client.batches.retrieve(someId), sdk.NotFoundError);
    await raised(client.batches.cancel(someId), sdk.NotFoundError);
    await raised(client.files.retrieve('file-unknown'), sdk.NotFoundError);
    await raised(client.models.retrieve('gpt-17'), sdk.NotFoundError);
    const chat = client.chat.completions.create({ model: 'gpt-17', messages });
    const error = await raised(chat, sdk.NotFoundError);
    expect(error).toMatchObject({ code: 'model_not_found', param: 'model' });
    expect(error.message).toContain('gpt-17');
  });

  it('409 for a finished batch, without a retry', async () => {
    const { id } = await client.batches.create({ ...batch, requests: chatLines(1) } as never);
    await running.api.finished(id);
    let asked = 0;
    const counting: typeof fetch = (input, init) => {
      asked += 1;
      return fetch(input, init);
    };
    const patient = createClient(sdk, { ...running, maxRetries: 5, fetch: counting });
    const error = await raised(patient.batches.cancel(id), sdk.ConflictError);
    expect(error).toMatchObject({ status: 409, code: 'batch_not_cancellable', type: 'conflict' });
    expect(asked).toBe(1);
  });

  it('413 for a file over the limit', async () => {
    const error = await raised(upload(jsonl(chatLines(2000))), sdk.APIError);
    expect(error).toMatchObject({ status: 413, code: 'payload_too_large', type: 'invalid_request_error' });
    expect(error.message).toContain('100000');
  });

  it('422 for an invalid request, with the location', async () => {
    const chat = client.chat.completions.create({
      model: 'tiny',
      messages: [{ role: 'user', content: 7 }] as never,
    });
    const error = await raised(chat, sdk.UnprocessableEntityError);
    expect(error).toMatchObject({ status: 422, param: 'messages[0].content' });
    const create = client.batches.create({ ...batch, input_file_id: 'file-unknown' });
    expect(await raised(create, sdk.UnprocessableEntityError)).toMatchObject({ param: 'input_file_id' });
    const url = upload(jsonl([{ ...chatLine('a'), url: '/v1/completions' }]));
    expect(await raised(url, sdk.UnprocessableEntityError)).toMatchObject({ code: 'url_mismatch' });
  });

  it('429 for too many unfinished batches', async () => {
    const hanging = { ...batch, requests: chatLines(1, () => '[[hang]]') } as never;
    const open = [await client.batches.create(hanging), await client.batches.create(hanging)];
    const error = await raised(client.batches.create(hanging), sdk.RateLimitError);
    expect(error).toMatchObject({ status: 429, code: 'rate_limit_exceeded', type: 'rate_limit_error' });
    for (const { id } of open) await client.batches.cancel(id);
    for (const { id } of open) await running.api.finished(id);
  });

  it('5xx for a failing engine, without internal details', async () => {
    const failing = (how: string) =>
      client.chat.completions.create({
        model: 'tiny',
        messages: [{ role: 'user', content: `[[fail ${how}]]` }],
      });
    expect(await raised(failing('500'), sdk.InternalServerError)).toMatchObject({ status: 502 });
    expect(await raised(failing('timeout'), sdk.InternalServerError)).toMatchObject({ status: 504 });
    expect(await raised(failing('503'), sdk.InternalServerError)).toMatchObject({ status: 503 });
  });

  it('a connection error if no server listens', async () => {
    const nobody = createClient(sdk, { url: 'http://127.0.0.1:9', key: running.key });
    await expect(nobody.models.list()).rejects.toThrow(sdk.APIConnectionError);
  });
});

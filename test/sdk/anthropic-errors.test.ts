import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startApp } from '../support/app.ts';
import type { RunningApp } from '../support/app.ts';
import { createMessagesClient, messagesSdks } from './anthropic-clients.ts';
import type { MessagesClient } from './anthropic-clients.ts';
import { catchError } from './catch-error.ts';

const ask = (content: string, more: object = {}) => ({
  model: 'tiny',
  max_tokens: 10,
  messages: [{ role: 'user' as const, content }],
  ...more,
});

interface Raised {
  status: number;
  type: string;
  message: string;
  requestID: string;
  error: { error: { code: string; param: string | null; type: string } };
}

describe.each(messagesSdks)('errors through $name', ({ sdk }) => {
  let running: RunningApp;
  let client: MessagesClient;
  let narrow: MessagesClient;

  beforeAll(async () => {
    running = await startApp({
      limits: { bodyBytes: 50_000 },
      keys: [
        { org: 'narrow', scopes: ['inference'], models: ['another'] },
        { org: 'files', scopes: ['files'] },
      ],
    });
    client = createMessagesClient(sdk, running);
    narrow = createMessagesClient(sdk, { ...running, key: running.keys[0]! });
  });

  afterAll(() => running?.stop());

  async function raised(call: Promise<unknown>, kind: new (...args: never[]) => Error): Promise<Raised> {
    const told = await catchError<Raised>(call, kind);
    expect(told.message).not.toContain('{');
    return told;
  }

  it('401 for an unknown key', async () => {
    const stranger = createMessagesClient(sdk, { ...running, key: 'sk-nobody' });
    const error = await raised(stranger.messages.create(ask('x')), sdk.AuthenticationError);
    expect(error.error.error).toMatchObject({ type: 'authentication_error', code: 'invalid_api_key' });
  });

  it('403 for a model that the key may not use, and for a key without the scope', async () => {
    const model = await raised(narrow.messages.create(ask('x')), sdk.PermissionDeniedError);
    expect(model.error.error).toMatchObject({ type: 'permission_error', code: 'model_not_allowed' });
    const files = createMessagesClient(sdk, { ...running, key: running.keys[1]! });
    const scope = await raised(files.messages.countTokens(ask('x')), sdk.PermissionDeniedError);
    expect(scope.error.error.code).toBe('permission_denied');
  });

  it('404 for an unknown model', async () => {
    const error = await raised(client.messages.create({ ...ask('x'), model: 'gpt-17' }), sdk.NotFoundError);
    expect(error.error.error).toMatchObject({
      type: 'not_found_error',
      code: 'model_not_found',
      param: 'model',
    });
    expect(error.message).toContain('gpt-17');
  });

  it('413 for a body that is too large', async () => {
    const error = await raised(client.messages.create(ask('x'.repeat(60_000))), sdk.APIError);
    expect(error).toMatchObject({ status: 413 });
  });

  it('422 for an invalid request, with the location', async () => {
    const call = client.messages.create(ask('x', { messages: [{ role: 'user', content: 7 }] }));
    const error = await raised(call, sdk.UnprocessableEntityError);
    expect(error.message).toBe('422 messages[0].content: expected a string or an array of blocks, got 7');
    expect(error.error.error).toMatchObject({ type: 'invalid_request_error', param: 'messages[0].content' });
    const document = {
      type: 'document',
      source: { type: 'base64', media_type: 'application/pdf', data: 'eA==' },
    };
    const files = client.messages.create(ask('x', { messages: [{ role: 'user', content: [document] }] }));
    expect((await raised(files, sdk.UnprocessableEntityError)).message).toContain(
      'PDFs and other binary files',
    );
  });

  it('5xx for a failing engine, without internal details', async () => {
    const failing = (how: string) => client.messages.create(ask(`[[fail ${how}]]`));
    expect(await raised(failing('500'), sdk.InternalServerError)).toMatchObject({ status: 502 });
    expect(await raised(failing('timeout'), sdk.InternalServerError)).toMatchObject({ status: 504 });
    const busy = await raised(failing('503'), sdk.InternalServerError);
    expect(busy.status).toBe(503);
    expect(busy.error.error.type).toBe('overloaded_error');
  });

  it('a connection error if no server listens', async () => {
    const nobody = createMessagesClient(sdk, { url: 'http://127.0.0.1:9', key: running.key });
    await expect(nobody.messages.create(ask('x'))).rejects.toThrow(sdk.APIConnectionError);
  });
});

import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { chatLine } from './support/jsonl.ts';
import { uploadForm } from './support/multipart.ts';
import { type Json, type RunningServer, startServer, testModels } from './support/start-server.ts';

let app: RunningServer;
let strict: RunningServer;
const models = [{ ...testModels[0]!, extraFields: ['magic'] }, ...testModels.slice(1)];
beforeAll(async () => {
  app = await startServer({ models });
  strict = await startServer({ models, strictFields: true });
});
afterAll(async () => {
  await app.stop();
  await strict.stop();
});

const window = { endpoint: '/v1/chat/completions', completion_window: '24h' };

const request = (n: number, more: object) => {
  const line = chatLine(n) as { body: object };
  return { ...line, body: { ...line.body, ...more } };
};
const misspelt = [
  request(0, {}),
  request(1, { max_token: 5, magic: 1 }),
  request(2, { max_token: 5, größe: 1 }),
];
const warnings = [
  { code: 'unknown_field', field: 'max_token', count: 2, suggestion: 'max_tokens', line: 2 },
  { code: 'unknown_field', field: '["größe"]', count: 1, suggestion: null, line: 3 },
];

async function upload(server: RunningServer, lines: readonly object[]) {
  const { body, headers } = uploadForm(lines.map((line) => `${JSON.stringify(line)}\n`).join(''));
  return server.call('POST', '/v1/files', { headers, body: body as never });
}
const create = (server: RunningServer, json: object) =>
  server.call('POST', '/v1/batches', { json: { ...window, ...json } });

describe('unknown fields in the requests of a file', () => {
  it('are counted in the file, its batch, a dry run and a retry', async () => {
    const file = await upload(app, misspelt);
    expect(file.json.warnings).toEqual(warnings);
    expect((await app.call('GET', `/v1/files/${file.json.id}`)).json.warnings).toEqual(warnings);
    const input = { input_file_id: file.json.id };
    expect((await create(app, { ...input, dry_run: true })).json.warnings).toEqual(warnings);
    const batch = await create(app, input);
    expect(batch.json.warnings).toEqual(warnings);
    const path = `/v1/batches/${batch.json.id}`;
    await expect.poll(async () => (await app.call('GET', path)).json.status).toBe('completed');
    const done = (await app.call('GET', path)).json;
    expect(done).toMatchObject({ warnings, request_counts: { completed: 3 } });
    const output = await app.call('GET', `/v1/files/${done.output_file_id}`);
    expect(output.json).not.toHaveProperty('warnings');
  });

  it('are none for fields that an API, or the configuration of the model, names', async () => {
    const { json } = await upload(app, [
      request(0, { user: 'u', prompt_cache_key: 'k', magic: 1, store: false }),
    ]);
    expect(json.warnings).toEqual([]);
    expect((await create(app, { input_file_id: json.id, strict_fields: true })).status).toBe(201);
  });

  it('are faults with strict_fields: true in the batch', async () => {
    const { json } = await upload(app, misspelt);
    const refused = await create(app, { input_file_id: json.id, strict_fields: true });
    expect(refused.status).toBe(422);
    expect(refused.json.error.details.errors).toEqual([
      {
        line: 2,
        param: 'body.max_token',
        code: 'validation_error',
        message: 'unknown field; did you mean "max_tokens"? (in 2 requests)',
      },
      { line: 3, param: 'body["größe"]', code: 'validation_error', message: 'unknown field' },
    ]);
    const inline = await create(app, { requests: misspelt, strict_fields: true });
    expect(inline.json.error.details.errors.map(({ param }: Json) => param)).toEqual([
      'requests[1].body.max_token',
      'requests[2].body.max_token',
      'requests[2].body["größe"]',
    ]);
    expect((await create(app, { requests: misspelt })).json.warnings).toEqual(warnings);
  });

  it('are faults with strict_fields: true in the configuration, unless the batch says otherwise', async () => {
    const refused = await upload(strict, misspelt);
    expect(refused.status).toBe(422);
    expect(refused.json.error.details.errors[0]).toMatchObject({
      line: 2,
      custom_id: 'c1',
      param: 'body.max_token',
    });
    expect((await create(strict, { requests: misspelt })).status).toBe(422);
    expect((await create(strict, { requests: misspelt, strict_fields: false })).status).toBe(201);
  });

  it('do not keep failed requests from a retry', async () => {
    const failing = [request(0, { max_token: 5, messages: [{ role: 'user', content: '[[fail 400]]' }] })];
    const { json } = await create(strict, { requests: failing, strict_fields: false });
    const path = `/v1/batches/${json.id}`;
    await expect.poll(async () => (await strict.call('GET', path)).json.status).toBe('completed');
    const retried = await strict.call('POST', `${path}/retry`);
    expect(retried.status).toBe(201);
    expect(retried.json.warnings).toMatchObject([{ field: 'max_token', count: 1 }]);
  });
});

const messages = [{ role: 'user', content: 'hi' }];
const singles: [path: string, body: object][] = [
  ['/v1/chat/completions', { model: 'tiny', messages }],
  ['/v1/chat/completions/input_tokens', { model: 'tiny', messages }],
  ['/v1/completions', { model: 'tiny', prompt: 'hi' }],
  ['/v1/embeddings', { model: 'tiny', input: 'hi' }],
  ['/v1/responses', { model: 'tiny', input: 'hi' }],
  ['/v1/responses/input_tokens', { model: 'tiny', input: 'hi' }],
  ['/v1/messages', { model: 'tiny', max_tokens: 5, messages }],
  ['/v1/messages/count_tokens', { model: 'tiny', messages }],
];

describe('unknown fields of a single request', () => {
  it.each(singles)('%s: are in a header', async (path, body) => {
    const { status, headers } = await app.call('POST', path, { json: { ...body, modell: 'x', größe: 1 } });
    expect(status).toBe(200);
    const text = headers.get('x-offpeak-warnings')!;
    expect(text).toMatch(/^[\x20-\x7e]+$/);
    expect(JSON.parse(text)).toEqual([
      { code: 'unknown_field', field: 'modell', suggestion: 'model' },
      { code: 'unknown_field', field: '["größe"]', suggestion: null },
    ]);
    const valid = await app.call('POST', path, { json: { ...body, magic: 1 } });
    expect(valid.headers.get('x-offpeak-warnings')).toBeNull();
  });

  it.each(singles)('%s: are faults where the configuration is strict', async (path, body) => {
    const refused = await strict.call('POST', path, { json: { ...body, modell: 'x', größe: 1 } });
    expect(refused.status).toBe(422);
    const message = 'modell: unknown field; did you mean "model"? (and 1 more)';
    expect(refused.json.error.message).toBe(message);
    expect((await strict.call('POST', path, { json: { ...body, magic: 1 } })).status).toBe(200);
  });

  it('are in the header of a stream', async () => {
    const json = { model: 'tiny', messages, stream: true, temperture: 1 };
    const { headers, text } = await app.call('POST', '/v1/chat/completions', { json });
    expect(JSON.parse(headers.get('x-offpeak-warnings')!)).toMatchObject([{ suggestion: 'temperature' }]);
    expect(text).toContain('[DONE]');
  });

  it('leave a header of a few kilobytes, whatever their number and length', async () => {
    const many = Object.fromEntries(Array.from({ length: 300 }, (_, at) => [`€${at}`.repeat(50), 1]));
    const json = { model: 'tiny', messages, ...many };
    const { status, headers } = await app.call('POST', '/v1/chat/completions', { json });
    expect(status).toBe(200);
    const text = headers.get('x-offpeak-warnings')!;
    expect(JSON.parse(text)).toHaveLength(10);
    expect(text.length).toBeLessThan(8_000);
  });
});

import { createInterface } from 'node:readline';
import { Readable } from 'node:stream';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { batchEndpoints } from '../../src/core/batch.ts';
import type { ErrorBody } from '../support/api.ts';
import { startApp, testModel, upstreamEngine } from '../support/app.ts';
import type { RunningApp } from '../support/app.ts';
import { completion, message, send, startFakeUpstream } from '../support/fake-upstream.ts';
import type { FakeUpstream } from '../support/fake-upstream.ts';

// Some readers of result lines also split at other separators than line feeds, and reject lone surrogates.

let running: RunningApp;
let api: RunningApp['api'];
let fake: FakeUpstream;

beforeAll(async () => {
  fake = await startFakeUpstream();
  const capabilities = { formats: { messages: 'native', responses: 'no', completions: 'no' } as const };
  const native = { ...upstreamEngine(fake.url), capabilities };
  running = await startApp({
    models: [{ ...testModel(native), id: 'up', aliases: [] }],
    batch: { endpoints: batchEndpoints },
  });
  api = running.api;
});
afterAll(async () => {
  await running?.stop();
  await fake?.close();
});

const breaks = 'one\u2028two\u2029three\u0085four';
const half = String.raw`"bad \ud800 half"`;
/** Text with an emoji at the position where a message is cut. */
const long = `${'x'.repeat(999)}😀`;

/** Runs two requests as a batch; returns the text of a stream, from the database or from the file. */
async function run(endpoint: '/v1/chat/completions' | '/v1/messages', stream: 'output' | 'errors') {
  const body = { model: 'up', max_tokens: 9, messages: [{ role: 'user', content: 'hi' }] };
  const requests = ['a', 'b'].map((id) => ({
    custom_id: id,
    method: 'POST' as const,
    url: endpoint,
    body,
  }));
  const { id } = await api.createBatch({ requests }, { endpoint });
  const batch = await api.finished(id);
  const { text } = await api.results(id, stream);
  const fileId = stream === 'output' ? batch.output_file_id : batch.error_file_id;
  const file = await api.send(`/v1/files/${fileId}/content`);
  expect(file.text).toBe(text);
  return { batch, text };
}

/** Splits lines like Node's `readline`; Python's `splitlines` splits at the same characters. */
async function linesOf(text: string): Promise<string[]> {
  const lines: string[] = [];
  for await (const line of createInterface({ input: Readable.from([Buffer.from(text)]) })) lines.push(line);
  return lines;
}

describe('F31: result lines', () => {
  it.each(['/v1/chat/completions', '/v1/messages'] as const)(
    'of %s stay whole for readers with other line separators',
    async (endpoint) => {
      const answer = endpoint === '/v1/messages' ? message(breaks) : completion(breaks);
      fake.answer = (response) => send(response, 200, answer);
      const { text } = await run(endpoint, 'output');
      const lines = await linesOf(text);
      expect(lines.map((line) => (JSON.parse(line) as { custom_id: string }).custom_id)).toEqual(['a', 'b']);
      expect(text).not.toMatch(/[\u0085\u2028\u2029]/);
      expect(text).toContain(String.raw`one\u2028two\u2029three\u0085four`);
    },
  );

  it('of a native answer have no lone surrogate', async () => {
    const answer = JSON.stringify(message('text')).replace('"text":"text"', `"text":${half}`);
    expect(answer).toContain(half);
    fake.answer = (response) => {
      response.writeHead(200, { 'content-type': 'application/json' });
      response.end(answer);
    };
    const { text } = await run('/v1/messages', 'output');
    expect(text).not.toMatch(/\\ud800/i);
    expect(text).toMatch(/bad (\ufffd|\\ufffd) half/);
  });

  it.each([
    ['a lone surrogate', half, 'bad \ufffd half'],
    ['an emoji at the cut of its message', JSON.stringify(long), `${'x'.repeat(999)}...`],
  ])('with a failure containing %s are valid Unicode', async (_, said, shown) => {
    fake.answer = (response) => {
      response.writeHead(400, { 'content-type': 'application/json' });
      response.end(`{"error":{"message":${said}}}`);
    };
    const { batch, text } = await run('/v1/chat/completions', 'errors');
    expect(text).not.toMatch(/\\ud[89a-f]/i);
    for (const line of await linesOf(text)) {
      const { error, response } = JSON.parse(line) as ErrorBody & { response: { body: ErrorBody } };
      expect(error.message).toContain(shown);
      expect(response.body.error.message).toBe(error.message);
    }
    expect(batch.error_summary[0]!.example.isWellFormed()).toBe(true);
    expect(batch.error_summary[0]!.example).not.toContain('\ud83d');
  });
});

describe('a lone surrogate', () => {
  const refused = async (path: string, body: string) => {
    const headers = { 'content-type': 'application/json' };
    const { status, text } = await api.send(path, { method: 'POST', body, headers });
    const { error } = JSON.parse(text) as ErrorBody;
    return [status, error.param];
  };

  it.each([
    ['/v1/batches', String.raw`{"a":"\ud800"}`, 'metadata'],
    ['/v1/batches', String.raw`{"a":{"\uDC00":1}}`, 'metadata'],
    ['/v1/conversations', String.raw`{"a":"\ud800"}`, 'metadata.a'],
    ['/v1/conversations', String.raw`{"\ud800":"a"}`, String.raw`metadata["\ud800"]`],
  ])('is rejected in metadata: %s %s', async (path, metadata, param) => {
    const batch = '"endpoint":"/v1/chat/completions","completion_window":"24h","input_file_id":"file-1",';
    const rest = path === '/v1/batches' ? batch : '';
    expect(await refused(path, `{${rest}"metadata":${metadata}}`)).toEqual([422, param]);
  });

  it('is rejected in a name', async () => {
    const body = String.raw`{"url":"https://example.com/hook","name":"a\udfff"}`;
    expect(await refused('/v1/webhooks', body)).toEqual([422, 'name']);
  });

  it('is not in messages that quote the request', async () => {
    const { status, text } = await api.send(`/v1/models/${'x'.repeat(199)}%F0%9F%98%80`);
    expect(status).toBe(404);
    expect((JSON.parse(text) as ErrorBody).error.message).toBe(
      `The model '${'x'.repeat(199)}' does not exist. GET /v1/models lists the models.`,
    );
  });
});

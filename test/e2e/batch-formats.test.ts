import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { batchEndpoints } from '../../src/core/batch.ts';
import type { BatchEndpoint } from '../../src/core/batch.ts';
import type { ErrorBody } from '../support/api.ts';
import { startApp, testModel, upstreamEngine } from '../support/app.ts';
import type { RunningApp } from '../support/app.ts';
import { completion, message, responseObject, send, startFakeUpstream } from '../support/fake-upstream.ts';
import type { FakeUpstream } from '../support/fake-upstream.ts';

// Batches of every format, all allowed by the configuration. `tiny` answers them through chat; `native` supports them
// itself, except completions.

let running: RunningApp;
let api: RunningApp['api'];
let fake: FakeUpstream;

beforeAll(async () => {
  fake = await startFakeUpstream();
  const formats = { messages: 'native', responses: 'native', completions: 'no' } as const;
  const capabilities = { formats };
  const native = { ...upstreamEngine(fake.url), capabilities };
  const models = [testModel(), { ...testModel(native), id: 'native', aliases: [] }];
  running = await startApp({ models, batch: { endpoints: batchEndpoints } });
  api = running.api;
});
afterAll(async () => {
  await running?.stop();
  await fake?.close();
});
beforeEach(() => void (fake.received.length = 0));

const lines = (url: BatchEndpoint, bodies: object[]) =>
  bodies.map((body, n) => ({ custom_id: `row-${n}`, method: 'POST' as const, url, body: { ...body } }));

/** Runs a batch of these bodies; returns it with the lines of both results by row. */
async function run(endpoint: BatchEndpoint, bodies: object[]) {
  const { id } = await api.createBatch({ requests: lines(endpoint, bodies) }, { endpoint });
  const batch = await api.finished(id);
  const text = (await api.results(id, 'output')).text + (await api.results(id, 'errors')).text;
  const rows = new Map(
    text
      .split('\n')
      .slice(0, -1)
      .map((line) => JSON.parse(line) as { custom_id: string; id: string; response: { body: unknown } })
      .map((line) => [line.custom_id, line]),
  );
  return {
    batch,
    text,
    row: (n: number) => rows.get(`row-${n}`)!,
    body: (n: number) => rows.get(`row-${n}`)!.response.body,
  };
}

const messages = (content: unknown) => ({
  model: 'tiny',
  max_tokens: 9,
  messages: [{ role: 'user', content }],
});
const tool = { name: 'look', input_schema: { type: 'object', properties: { id: { type: 'integer' } } } };

describe('a batch of /v1/responses', () => {
  it('answers each line with a response that is not stored', async () => {
    const schema = { type: 'object', properties: { a: { type: 'integer' } }, required: ['a'] };
    const format = { type: 'json_schema', name: 'x', strict: true, schema };
    const { batch, row, body } = await run('/v1/responses', [
      { model: 'tiny', input: 'Hello.', store: false, metadata: { a: 'b' } },
      { model: 'default', input: [{ role: 'user', content: 'Say [[json {"a":1}]]' }], text: { format } },
      { model: 'tiny', input: 'No: [[fail 400]]' },
    ]);
    expect(batch).toMatchObject({ endpoint: '/v1/responses', request_counts: { completed: 2, failed: 1 } });
    expect(body(0)).toMatchObject({
      object: 'response',
      id: expect.stringMatching(/^resp_[0-9a-f]{32}$/),
      status: 'completed',
      model: 'tiny',
      store: false,
      metadata: { a: 'b' },
      output: [{ type: 'message', id: expect.stringMatching(/^msg_[0-9a-f]{36}$/) }],
    });
    expect(body(1)).toMatchObject({ output: [{ content: [{ text: '{"a":1}' }] }] });
    expect(row(2)).toMatchObject({
      response: { status_code: 400, body: { error: { type: 'invalid_request_error' } } },
    });
    const used = [body(0), body(1)] as { usage: { input_tokens: number; output_tokens: number } }[];
    const sum = (of: 'input_tokens' | 'output_tokens') => used.reduce((all, { usage }) => all + usage[of], 0);
    expect(batch.usage).toMatchObject({
      input_tokens: sum('input_tokens'),
      output_tokens: sum('output_tokens'),
    });
    expect(Number(batch.cost.amount)).toBeCloseTo(
      (sum('input_tokens') * 0.1 + sum('output_tokens') * 0.4) / 2e6,
      9,
    );
    const { id } = body(0) as { id: string };
    expect((await api.send(`/v1/responses/${id}`)).status).toBe(404);
  });

  it('passes lines on unchanged to an engine that supports the format', async () => {
    fake.answer = (response) => send(response, 200, responseObject('Hi.'));
    const { body } = await run('/v1/responses', [{ model: 'native', input: 'Hello.', service_tier: 'auto' }]);
    expect(fake.received.map(({ path }) => path)).toEqual(['/v1/responses']);
    expect(JSON.parse(fake.received[0]!.text)).toMatchObject({
      model: 'real-name',
      input: 'Hello.',
      store: false,
    });
    expect(body(0)).toMatchObject({
      id: expect.stringMatching(/^resp_[0-9a-f]{32}$/),
      model: 'native',
      store: false,
    });
  });
});

describe('a batch of /v1/messages', () => {
  it('answers each line with a message, and has the error types of that format', async () => {
    const { batch, row, body } = await run('/v1/messages', [
      messages('Hello.'),
      {
        ...messages('Do [[tool look {"id":12345678901234567890}]]'),
        tools: [tool],
        tool_choice: { type: 'tool', name: 'look' },
      },
      messages('No: [[fail 400]]'),
    ]);
    expect(batch).toMatchObject({ endpoint: '/v1/messages', request_counts: { completed: 2, failed: 1 } });
    expect(body(0)).toMatchObject({
      type: 'message',
      id: expect.stringMatching(/^msg_[0-9a-f]{32}$/),
      model: 'tiny',
      stop_reason: 'end_turn',
    });
    expect(body(1)).toMatchObject({ stop_reason: 'tool_use', content: [{ type: 'tool_use', name: 'look' }] });
    const refused = row(2);
    expect(refused).toMatchObject({
      response: {
        status_code: 400,
        body: { type: 'error', error: { type: 'invalid_request_error' }, request_id: refused.id },
      },
    });
    expect(batch.usage.output_tokens).toBeGreaterThan(0);
  });

  it('keeps the bytes of an engine that supports the format, on one line', async () => {
    const given = message('', {
      content: [{ type: 'tool_use', id: 'toolu_1', name: 'look', input: { id: 7 } }],
    });
    const text = JSON.stringify(given, null, 2).replace('"id": 7', '"id": 12345678901234567890');
    fake.answer = (response) => send(response, 200, text);
    const result = await run('/v1/messages', [
      { ...messages('Hello.'), model: 'native', context_management: { edits: [] } },
    ]);
    expect(fake.received.map(({ path }) => path)).toEqual(['/v1/messages']);
    expect(JSON.parse(fake.received[0]!.text)).toMatchObject({ context_management: { edits: [] } });
    expect(result.text.trimEnd()).not.toContain('\n');
    expect(result.text).toContain('12345678901234567890');
    expect(result.body(0)).toMatchObject({ type: 'message', model: 'native' });
    expect(result.batch.usage).toMatchObject({ input_tokens: 9, output_tokens: 3 });
  });

  it('enforces guarantees if its engine does not', async () => {
    const called = { id: 'c', type: 'function', function: { name: 'look', arguments: '{"id":1}' } };
    const choice = {
      index: 0,
      message: { role: 'assistant', tool_calls: [called] },
      finish_reason: 'tool_calls',
    };
    fake.answer = (response, { path }) =>
      send(
        response,
        200,
        path.endsWith('/messages') ? message('No call.') : completion('', { choices: [choice] }),
      );
    const asked = { ...messages('x'), model: 'native', tools: [tool], tool_choice: { type: 'any' } };
    const { body } = await run('/v1/messages', [asked]);
    expect(body(0)).toMatchObject({ content: [{ type: 'tool_use', name: 'look', input: { id: 1 } }] });
    expect(fake.received.map(({ path }) => path)).toEqual(['/v1/chat/completions']);
  });
});

describe('reasoning tokens', () => {
  const counted = { input_tokens: 10, output_tokens: 50 };
  it.each([
    [
      '/v1/chat/completions',
      { messages: [{ role: 'user', content: 'x' }] },
      completion('x', {
        usage: {
          prompt_tokens: 10,
          completion_tokens: 50,
          total_tokens: 60,
          completion_tokens_details: { reasoning_tokens: 40 },
        },
      }),
    ],
    [
      '/v1/responses',
      { input: 'x' },
      responseObject('x', {
        usage: { ...counted, total_tokens: 60, output_tokens_details: { reasoning_tokens: 40 } },
      }),
    ],
    [
      '/v1/messages',
      messages('x'),
      message('x', { usage: { ...counted, output_tokens_details: { thinking_tokens: 40 } } }),
    ],
  ] as const)('of %s are added up for the batch', async (endpoint, body, answer) => {
    fake.answer = (response) => send(response, 200, answer);
    const asked = { ...body, model: 'native' };
    const { batch } = await run(endpoint, [asked, asked]);
    expect(batch.usage).toEqual({
      input_tokens: 20,
      input_tokens_details: { cached_tokens: 0 },
      output_tokens: 100,
      output_tokens_details: { reasoning_tokens: 80 },
      total_tokens: 120,
    });
  });

  it('are zero for embeddings and unknown for a dry run', async () => {
    const { batch } = await run('/v1/embeddings', [{ model: 'tiny', input: 'x' }]);
    expect(batch.usage).toMatchObject({ output_tokens_details: { reasoning_tokens: 0 } });
    const requests = lines('/v1/embeddings', [{ model: 'tiny', input: 'x' }]);
    const estimate = await api.createBatch({ requests }, { endpoint: '/v1/embeddings', dry_run: true });
    expect(Object.keys(estimate.usage)).toEqual(['input_tokens', 'output_tokens', 'total_tokens']);
  });
});

describe('a batch of /v1/completions', () => {
  it('continues raw prompts', async () => {
    const { batch, body } = await run('/v1/completions', [
      { model: 'tiny', prompt: 'Rome [[tokens 3]]' },
      { model: 'tiny', prompt: ['a', 'b'] },
    ]);
    expect(batch.request_counts).toMatchObject({ completed: 2 });
    expect(body(0)).toMatchObject({
      object: 'text_completion',
      model: 'tiny',
      usage: { completion_tokens: 3 },
    });
    expect(body(1)).toMatchObject({ choices: [{ text: 'Echo: a' }, { text: 'Echo: b' }] });
    expect(batch.usage.output_tokens).toBeGreaterThan(3);
  });

  it('is rejected at once for a model without raw prompts', async () => {
    const [line] = lines('/v1/completions', [{ model: 'native', prompt: 'x' }]);
    expect((await api.sendFile(`${JSON.stringify(line)}\n`)).text).toContain(
      'does not serve text completions',
    );
  });
});

describe('a line that is rejected when it', () => {
  const open = { type: 'object', properties: { a: { $ref: '#/nowhere' } } };
  it.each<[string, BatchEndpoint, object, string, string]>([
    ['would be stored', '/v1/responses', { input: 'x', store: true }, 'body.store', 'only in its results'],
    [
      'continues a stored response',
      '/v1/responses',
      { input: 'x', previous_response_id: 'resp_1' },
      'body.previous_response_id',
      'whole conversation',
    ],
    [
      'refers to a stored item',
      '/v1/responses',
      { input: [{ type: 'item_reference', id: 'msg_1' }] },
      'body.input[0]',
      'the item itself',
    ],
    [
      'runs in the background',
      '/v1/responses',
      { input: 'x', background: true },
      'body.background',
      'always run in the background',
    ],
    ['is streamed', '/v1/responses', { input: 'x', stream: true }, 'body.stream', 'cannot be streamed'],
    [
      'has a result without its call',
      '/v1/responses',
      { input: [{ type: 'function_call_output', call_id: 'c', output: 'x' }] },
      'body.input[0].call_id',
      'call_id "c"',
    ],
    [
      'has a bad tool',
      '/v1/responses',
      { input: 'x', tools: [{ type: 'function', name: 'f', parameters: open, strict: true }] },
      'body.tools[0].parameters#/properties/a/$ref',
      'does not point to a schema',
    ],
    [
      'lacks max_tokens',
      '/v1/messages',
      { messages: [{ role: 'user', content: 'x' }] },
      'body.max_tokens',
      'required',
    ],
    [
      'has no content',
      '/v1/messages',
      { max_tokens: 1, messages: [{ role: 'assistant', content: [] }] },
      'body.messages',
      'contain nothing to answer',
    ],
    [
      'continues a thread',
      '/v1/messages',
      { max_tokens: 1, thread: { type: 'continue', id: 't' }, messages: [{ role: 'user', content: 'x' }] },
      'body.thread',
      'not stored here',
    ],
    [
      'has a bad tool',
      '/v1/messages',
      { ...messages('x'), tools: [{ name: 'f', input_schema: open, strict: true }] },
      'body.tools[0].input_schema#/properties/a/$ref',
      'does not point to a schema',
    ],
  ])('%s (%s, %j) gets an error with the location', async (_, url, body, param, words) => {
    const answer = await api.sendFile(`${JSON.stringify(lines(url, [{ model: 'tiny', ...body }])[0])}\n`);
    const { error } = JSON.parse(answer.text) as ErrorBody;
    expect([answer.status, error.details.errors[0]]).toMatchObject([
      422,
      { line: 1, custom_id: 'row-0', param },
    ]);
    expect(error.details.errors[0]!.message).toContain(words);
  });
});

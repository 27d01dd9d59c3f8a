import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { createIds } from '../../src/base/ids.ts';
import { silent } from '../../src/base/log.ts';
import { systemClock, systemRandom } from '../../src/base/system.ts';
import { createUpstreamEngine } from '../../src/engines/upstream/upstream.ts';
import {
  complete,
  completion,
  type FakeUpstream,
  frame,
  send,
  startFakeUpstream,
  streamed,
} from '../support/fake-upstream.ts';
import { type RunningServer, startServer } from './support/start-server.ts';

// Log lines of upstream calls: the usage that the upstream reported, next to the billed usage.

let fake: FakeUpstream;
let app: RunningServer;

beforeAll(async () => {
  fake = await startFakeUpstream();
  const engine = createUpstreamEngine({
    url: fake.url,
    flavor: 'llama-server',
    model: 'real-name',
    slots: 4,
    serves: ['chat', 'embeddings', 'completions'],
    clock: systemClock,
    ids: createIds(systemClock, systemRandom),
    log: silent,
  });
  app = await startServer({ engine: () => engine });
});
afterAll(async () => {
  await app.stop();
  await fake.close();
});
beforeEach(() => void (fake.answer = complete()));

const messages = [{ role: 'user', content: 'hello there' }];

async function logOf(requestId: string | null) {
  const line = () => app.logged.find(({ fields }) => fields['request_id'] === requestId);
  await expect.poll(line).toBeDefined();
  return line()!.fields;
}

async function asked(more: object = {}, path = 'chat/completions') {
  const json = { model: 'tiny', ...(path === 'chat/completions' && { messages }), ...more };
  const answer = await app.call('POST', `/v1/${path}`, { json });
  return { ...answer, line: await logOf(answer.headers.get('x-request-id')) };
}

describe('the log line of a request', () => {
  it('contains the usage once if the reported and the billed usage agree', async () => {
    const usage = { prompt_tokens: 9, completion_tokens: 3, prompt_tokens_details: { cached_tokens: 2 } };
    fake.answer = complete('x', { usage });
    const { line } = await asked();
    expect(line).toMatchObject({ input_tokens: 9, cached_tokens: 2, output_tokens: 3 });
    expect(line['reported']).toBeUndefined();
    expect(line['calls']).toBeUndefined();
  });

  it.each([false, true])(
    'contains the reported usage if the billed usage differs; a stream: %j',
    async (stream) => {
      const usage = { prompt_tokens: 12, completion_tokens: 1, total_tokens: 399 };
      const end = `data: ${JSON.stringify({ choices: [], usage })}\n\n`;
      fake.answer = stream
        ? streamed([frame({ content: 'x' }, 'stop'), end, 'data: [DONE]\n\n'])
        : complete('x', { usage });
      const { line } = await asked({ stream });
      expect(line).toMatchObject({
        input_tokens: 12,
        output_tokens: 387,
        reported: { input_tokens: 12, output_tokens: 1, total_tokens: 399 },
      });
    },
  );

  it('marks estimated usage: none or an invalid one was reported', async () => {
    fake.answer = complete('x'.repeat(40), { usage: undefined });
    const { line } = await asked();
    expect(line).toMatchObject({ output_tokens: 10, reported: {} });
    fake.answer = complete('x'.repeat(40), { usage: { prompt_tokens: -7, completion_tokens: 'many' } });
    const { line: other } = await asked();
    expect(other).toMatchObject({ output_tokens: 10, reported: { input_tokens: -7 } });
    expect(other['reported']).not.toHaveProperty('output_tokens', expect.anything());
  });

  it('adds up several calls', async () => {
    const { line } = await asked({ n: 3 });
    expect(line).toMatchObject({
      input_tokens: 9,
      output_tokens: 9,
      reported: { input_tokens: 27, output_tokens: 9, total_tokens: 36 },
    });
  });

  it('contains the number of calls and what the last one reported', async () => {
    const said = ['no JSON', '{"a":1}'];
    fake.answer = (response) => send(response, 200, completion(said.shift()));
    const schema = { type: 'object', properties: { a: { type: 'integer' } }, required: ['a'] };
    const format = { type: 'json_schema', json_schema: { name: 's', schema } };
    const { status, line } = await asked({ response_format: format });
    expect(status).toBe(200);
    expect(line).toMatchObject({
      calls: 2,
      input_tokens: 18,
      output_tokens: 6,
      reported: { input_tokens: 9, output_tokens: 3 },
    });
  });

  it('covers embeddings', async () => {
    const data = [{ index: 0, embedding: [1, 0] }];
    fake.answer = (response) => send(response, 200, { data, usage: { prompt_tokens: 0 } });
    const { line } = await asked({ input: 'x'.repeat(8) }, 'embeddings');
    expect(line).toMatchObject({ input_tokens: 2, reported: { input_tokens: 0 } });
    const usage = { prompt_tokens: 5, total_tokens: 5 };
    fake.answer = (response) => send(response, 200, { data, usage });
    const { line: paid } = await asked({ input: 'x'.repeat(8) }, 'embeddings');
    expect(paid).toMatchObject({ input_tokens: 5, output_tokens: 0 });
    expect(paid['reported']).toBeUndefined();
  });
});

describe('the log line of a batch line', () => {
  const run = async () => {
    const requests = [
      { custom_id: 'a', method: 'POST', url: '/v1/chat/completions', body: { messages, model: 'tiny' } },
    ];
    const json = { endpoint: '/v1/chat/completions', completion_window: '24h', requests };
    const { id } = (await app.call('POST', '/v1/batches', { json })).json;
    await expect
      .poll(async () => (await app.call('GET', `/v1/batches/${id}`)).json.status, { timeout: 15_000 })
      .toBe('completed');
    const which = await Promise.all(
      ['output', 'errors'].map((stream) => app.call('GET', `/v1/batches/${id}/${stream}`)),
    );
    const result = JSON.parse(which.map(({ text }) => text).join('')) as { id: string };
    return app.logged.filter(({ fields }) => fields['request_id'] === result.id);
  };

  it('has the ID of its result, at level debug', async () => {
    fake.answer = complete('x'.repeat(40), { usage: undefined });
    const lines = await run();
    expect(lines).toHaveLength(1);
    expect(lines[0]).toMatchObject({ level: 'debug', message: 'line' });
    expect(lines[0]!.fields).toMatchObject({
      org: expect.stringMatching(/^org_/),
      attempt: 1,
      model: 'tiny',
      server: 'only',
      servers_asked: 1,
      answer_id: 'chatcmpl-1',
      first_ms: expect.any(Number),
      output_tokens: 10,
      reported: {},
    });
  });

  it('is written once per attempt', async () => {
    fake.answer = (response) => send(response, 400, { error: { message: 'no' } });
    const lines = await run();
    expect(lines.map(({ message, fields }) => [message, fields['attempt'], fields['code']])).toEqual([
      ['line failed', 1, 'request_refused'],
    ]);
  });
});

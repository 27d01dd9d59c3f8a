import { OpenAI } from 'openai';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Model } from '../../src/core/model.ts';
import { type CallResult, type RunningServer, startServer, testModels } from './support/start-server.ts';

const newModel = (id: string, serves: Model['serves'], input: number, aliases: string[] = []): Model => ({
  id,
  aliases,
  serves,
  prices: { input, cachedInput: input, output: input },
  createdAt: 1_700_000_000_000,
});
/** One dollar for a million tokens, in nano-dollars. */
const dollar = 1_000_000_000;
const models = [
  ...testModels,
  newModel('ranker', ['rerank', 'score'], dollar, ['rank']),
  newModel('guard', ['moderations'], 0, ['omni-moderation-latest']),
  newModel('other-ranker', ['rerank', 'score'], dollar),
  newModel('other-guard', ['moderations'], 0),
  { ...newModel('eyes', ['moderations'], 0), imageUrls: true },
];

let app: RunningServer;
beforeAll(async () => void (app = await startServer({ models })));
afterAll(() => app.stop());

const post = (path: string, json: unknown): Promise<CallResult> => app.call('POST', path, { json });

const rerank = { model: 'rank', query: 'red apple', documents: ['a green pear', 'a red apple', 'an apple'] };
const score = { model: 'ranker', text_1: 'red apple', text_2: ['an apple', 'a red apple'] };
const moderation = { model: 'guard', input: ['hello', 'I will kill it'] };
const kinds = [
  ['/v1/rerank', rerank],
  ['/v1/score', score],
  ['/v1/moderations', moderation],
] as const;

it('POST /v1/rerank orders the documents', async () => {
  const { status, json, headers } = await post('/v1/rerank', { ...rerank, top_n: 2 });
  expect(status).toBe(200);
  expect(json).toEqual({
    id: expect.stringMatching(/^rerank_[0-9a-f]{32}$/),
    object: 'list',
    model: 'ranker',
    results: [
      { index: 1, relevance_score: 1, document: { text: 'a red apple' } },
      { index: 2, relevance_score: 0.5, document: { text: 'an apple' } },
    ],
    usage: { prompt_tokens: 20, total_tokens: 20 },
  });
  expect(headers.get('x-offpeak-model')).toBe('ranker');
});

it('POST /v1/score has a score for each pair', async () => {
  const { json } = await post('/v1/score', score);
  expect(json).toMatchObject({ object: 'list', model: 'ranker', data: [{ score: 0.5 }, { score: 1 }] });
});

it("POST /v1/moderations works with OpenAI's SDK, also without a model", async () => {
  const client = new OpenAI({ baseURL: `${app.url}/v1`, apiKey: app.keys.a });
  const named = await client.moderations.create(moderation);
  expect(named.results.map(({ flagged }) => flagged)).toEqual([false, true]);
  const { id, model, results } = await client.moderations.create({ input: 'hello' });
  expect(id).toMatch(/^modr_/);
  expect([model, results.length]).toEqual(['guard', 1]);
});

describe.each(kinds)('%s', (path, request) => {
  it('is refused for a model that does not serve it, and for unknown ones', async () => {
    const chat = await post(path, { ...request, model: 'tiny' });
    expect([chat.status, chat.json.error.code, chat.json.error.param]).toEqual([
      404,
      'model_not_found',
      'model',
    ]);
    expect(chat.json.error.message).toMatch(
      /^The model 'tiny' does not serve (?:reranking|scores|moderations)\.$/,
    );
    expect((await post(path, { ...request, model: 'nope' })).status).toBe(404);
    const messages = [{ role: 'user', content: 'hi' }];
    expect((await post('/v1/chat/completions', { model: request.model, messages })).status).toBe(404);
  });

  it('reports unknown fields, and only those', async () => {
    const { headers } = await post(path, { ...request, top_m: 1, user: 'u' });
    expect(headers.get('x-offpeak-warnings')).toMatch(/top_m/);
    expect((await post(path, request)).headers.get('x-offpeak-warnings')).toBeNull();
  });

  it('is refused with all faults', async () => {
    const { status, json } = await post(path, { model: request.model });
    expect([status, json.error.code]).toEqual([422, 'validation_error']);
  });

  it('runs at the tier flex as a line of the batch engine, and repeats are free', async () => {
    const plain = await post(path, request);
    const headers = { 'idempotency-key': `of ${path}` };
    const flex = () => app.call('POST', path, { json: { ...request, service_tier: 'flex' }, headers });
    const [first, again] = [await flex(), await flex()];
    expect([first.status, again.headers.get('idempotent-replayed')]).toEqual([200, 'true']);
    expect(again.text).toBe(first.text);
    const { id: _, created: __, ...answer } = plain.json;
    expect(first.json).toMatchObject(answer);
    expect(first.headers.get('x-offpeak-model')).toBe(plain.json.model);
  });

  it('runs in batches, with a result for each line', async () => {
    const line = (id: string, body: object) => ({ custom_id: id, method: 'POST', url: path, body });
    const create = {
      endpoint: path,
      completion_window: '24h',
      requests: [line('a', request), line('b', { ...request, user: 'u' })],
    };
    const { status, json: batch } = await post('/v1/batches', create);
    expect([status, batch.endpoint]).toEqual([201, path]);
    const output = async () =>
      (await app.call('GET', `/v1/batches/${batch.id}/output`)).text.trim().split('\n');
    await expect.poll(async () => (await output()).length).toBe(2);
    const plain = await post(path, request);
    const { id: _, created: __, ...answer } = plain.json;
    for (const text of await output()) expect(JSON.parse(text).response.body).toMatchObject(answer);
  });

  it('is refused at the creation of a batch, with the place', async () => {
    const requests = [{ custom_id: 'a', method: 'POST', url: path, body: { model: request.model } }];
    const { status, json } = await post('/v1/batches', {
      endpoint: path,
      completion_window: '24h',
      requests,
    });
    expect([status, json.error.param]).toEqual([422, expect.stringMatching(/^requests\[0\]\.body\./)]);
  });
});

it('needs a model in a batch of moderations', async () => {
  const requests = [{ custom_id: 'a', method: 'POST', url: '/v1/moderations', body: { input: 'a' } }];
  const create = { endpoint: '/v1/moderations', completion_window: '24h', requests };
  expect((await post('/v1/batches', create)).json.error.param).toBe('requests[0].body.model');
});

it('refuses images by URL, unless the model fetches them', async () => {
  const image = (url: string) => [{ type: 'image_url', image_url: { url } }];
  const { status, json } = await post('/v1/moderations', {
    model: 'guard',
    input: image('https://a.test/b.png'),
  });
  expect([status, json.error.code, json.error.param]).toEqual([422, 'validation_error', 'input[0]']);
  const fetched = { model: 'eyes', input: image('https://a.test/b.png') };
  expect((await post('/v1/moderations', fetched)).status).toBe(200);
  const inline = { model: 'guard', input: image('data:image/png;base64,AAAA') };
  expect((await post('/v1/moderations', inline)).status).toBe(200);
});

it('is charged by its tokens, in batches at the batch price; moderations are free without a price', async () => {
  const rows = async (model: string) => {
    const { json } = await app.call('GET', '/v1/usage?group_by=model');
    const { requests, input_tokens, output_tokens, amount } =
      json.data.find((row: { model: string }) => row.model === model) ?? {};
    return [requests, input_tokens, output_tokens, amount];
  };
  const body = { ...rerank, model: 'other-ranker' };
  await post('/v1/rerank', body);
  await expect.poll(() => rows('other-ranker')).toEqual([1, 20, 0, '0.00002']);
  const requests = [{ custom_id: 'a', method: 'POST', url: '/v1/rerank', body }];
  await post('/v1/batches', { endpoint: '/v1/rerank', completion_window: '24h', requests });
  await expect.poll(() => rows('other-ranker')).toEqual([2, 40, 0, '0.00003']);
  await post('/v1/moderations', { ...moderation, model: 'other-guard' });
  await expect.poll(() => rows('other-guard')).toEqual([1, 6, 0, '0']);
});

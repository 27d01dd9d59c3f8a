import { afterEach, describe, expect, it } from 'vitest';
import { permanent } from '../../../src/core/errors.ts';
import type { DirectKind } from '../../../src/core/model.ts';
import type { UpstreamOptions } from '../../../src/engines/upstream/upstream-options.ts';
import { parseDirectRequest } from '../../../src/wire/direct/parse.ts';
import { type FakeUpstream, send, startFakeUpstream } from '../../support/fake-upstream.ts';
import { call, engineAt } from './setup.ts';

// Rankings, scores and moderations in the forms of the servers that have them, from their sources (vLLM, SGLang, llama.cpp, Infinity)
// and documentation (Jina, Cohere, OpenAI, Mistral). Embeddings are in `faults.test.ts`.

const open: { close(): Promise<unknown> }[] = [];
afterEach(async () => {
  for (const each of open.splice(0).toReversed()) await each.close();
});

async function upstream(body: unknown, more: Partial<UpstreamOptions> = {}, status = 200) {
  const fake = await startFakeUpstream();
  fake.answer = (response) => send(response, status, body);
  const engine = engineAt(fake.url, {
    serves: ['rerank', 'score', 'moderations'],
    flavor: 'generic',
    ...more,
  });
  await engine.start();
  open.push(fake, { close: () => engine.stop() });
  return {
    fake,
    run: <Kind extends DirectKind>(kind: Kind, request: object) =>
      engine.direct(kind, parseDirectRequest(kind, JSON.stringify({ model: 'public', ...request })), call()),
  };
}

const sent = ({ received }: FakeUpstream) => {
  const { path, text } = received.at(-1)!;
  return { path, body: JSON.parse(text) as unknown };
};

const rank = { query: 'q', documents: ['a', { text: 'b' }, 'c'] };
const ranked = [
  { index: 1, score: 0.9 },
  { index: 0, score: 0.2 },
  { index: 2, score: -1 },
];
const relevance = (results = ranked) =>
  results.map(({ index, score }) => ({ index, relevance_score: score }));
const usage = { prompt_tokens: 12, total_tokens: 12 };

describe('rerank', () => {
  it.each<[string, unknown, number]>([
    [
      'vLLM',
      {
        id: 'rerank-1',
        model: 'x',
        usage,
        results: relevance().map((each) => ({ ...each, document: { text: 'x', multi_modal: null } })),
      },
      12,
    ],
    ['llama-server, also without order', { object: 'list', usage, results: relevance().toReversed() }, 12],
    [
      'SGLang: a list, and the usage of each',
      ranked.map((each, at) => ({ ...each, document: 'x', meta_info: { id: 'r', prompt_tokens: 4 + at } })),
      15,
    ],
    ['SGLang without usage', ranked.map((each) => ({ ...each, document: 'x', meta_info: null })), 6],
    ['Jina, which reports the total', { results: relevance(), usage: { total_tokens: 12 } }, 12],
    ['Cohere', { id: 'x', results: relevance(), meta: { tokens: { input_tokens: 12 } } }, 12],
    ['a server without usage', { results: relevance() }, 6],
    [
      'a server that reports 0 for unknown',
      { results: relevance(), usage: { prompt_tokens: 0, total_tokens: 0 } },
      6,
    ],
  ])('reads the form of %s', async (_, body, promptTokens) => {
    const { run } = await upstream(body);
    expect(await run('rerank', rank)).toEqual({ ranked, promptTokens });
  });

  it('sends texts, and only members that servers know', async () => {
    const { fake, run } = await upstream({ results: relevance() });
    await run('rerank', {
      ...rank,
      top_n: null,
      return_documents: true,
      user: 'u',
      truncate_prompt_tokens: 9,
    });
    const body = { model: 'real-name', query: 'q', documents: ['a', 'b', 'c'] };
    expect(sent(fake)).toEqual({ path: '/v1/rerank', body });
    await run('rerank', { ...rank, documents: ['a', 'b', 'c'], top_n: 2, return_documents: false });
    expect(sent(fake).body).toEqual({ ...body, top_n: 2, return_documents: false });
  });

  it('accepts servers that ignore top_n', async () => {
    const { fake, run } = await upstream({ results: relevance() });
    expect((await run('rerank', { ...rank, top_n: 2 })).ranked).toEqual(ranked);
    fake.answer = (response) => send(response, 200, { results: relevance(ranked.slice(0, 2)) });
    expect((await run('rerank', { ...rank, top_n: 2 })).ranked).toEqual(ranked.slice(0, 2));
    await expect(run('rerank', rank)).rejects.toMatchObject({ code: 'invalid_upstream_response' });
  });

  it.each([
    ['no results', {}],
    ['a list of something else', ['a', 'b', 'c']],
    ['too many results', { results: relevance([...ranked, { index: 3, score: 0 }]) }],
    ['an unknown index', { results: relevance(ranked.with(0, { index: 3, score: 0 })) }],
    ['the same index twice', { results: relevance(ranked.with(0, ranked[1]!)) }],
    ['no score', { results: ranked.map(({ index }) => ({ index })) }],
    ['a score that is text', { results: ranked.map(({ index }) => ({ index, score: '1' })) }],
    ['an error', { error: { message: 'no', type: 'invalid_request_error' } }],
  ])('rejects %s', async (_, body) => {
    const { run } = await upstream(body);
    const code = 'error' in body ? 'request_refused' : 'invalid_upstream_response';
    await expect(run('rerank', rank)).rejects.toMatchObject({ code });
  });

  it('does not take a list elsewhere', async () => {
    const { run } = await upstream([{ index: 0, score: 1 }]);
    const answer = run('score', { text_1: 'a', text_2: 'b' });
    await expect(answer).rejects.toMatchObject({ code: 'invalid_upstream_response' });
  });

  it('has the path of the configuration', async () => {
    const ownTraits = {
      paths: { rerank: '/v2/rank' },
      fields: [],
      names: {},
      without: [],
      usage: {},
      finish: {},
      failures: [],
    };
    const { fake, run } = await upstream({ results: relevance() }, { ownTraits });
    await run('rerank', rank);
    expect(sent(fake).path).toBe('/v1/v2/rank');
  });
});

describe('score', () => {
  const data = [0.5, 1].map((score, index) => ({ index, object: 'score', score }));

  it('reads the form of vLLM, in any order', async () => {
    const { fake, run } = await upstream({ id: 'score-1', object: 'list', data: data.toReversed(), usage });
    expect(await run('score', { text_1: 'a', text_2: ['b', 'c'] })).toEqual({
      scores: [0.5, 1],
      promptTokens: 12,
    });
    const body = { model: 'real-name', text_1: 'a', text_2: ['b', 'c'] };
    expect(sent(fake)).toEqual({ path: '/v1/score', body });
    await run('score', { queries: ['a', 'b'], documents: ['c', 'd'], user: 'u' });
    expect(sent(fake).body).toEqual({ model: 'real-name', text_1: ['a', 'b'], text_2: ['c', 'd'] });
  });

  it('counts tokens itself if the server does not', async () => {
    const { run } = await upstream({ data });
    expect((await run('score', { text_1: 'a', text_2: ['b', 'c'] })).promptTokens).toBe(4);
  });

  it.each([
    ['no data', {}],
    ['too few', { data: data.slice(0, 1) }],
    ['the same index twice', { data: [data[0], data[0]] }],
    ['no number', { data: [data[0], { index: 1, score: null }] }],
  ])('rejects %s', async (_, body) => {
    const { run } = await upstream(body);
    const answer = run('score', { text_1: 'a', text_2: ['b', 'c'] });
    await expect(answer).rejects.toMatchObject({ code: 'invalid_upstream_response' });
  });

  it.each(['sglang', 'llama-server'] as const)('is a ranking at %s', async (flavor) => {
    const results = relevance([
      { index: 1, score: 3 },
      { index: 0, score: 2 },
    ]);
    const { fake, run } = await upstream({ results, usage }, { flavor });
    expect(await run('score', { text_1: 'a', text_2: ['b', 'c'] })).toEqual({
      scores: [2, 3],
      promptTokens: 12,
    });
    const body = { model: 'real-name', query: 'a', documents: ['b', 'c'] };
    expect(sent(fake)).toEqual({ path: '/v1/rerank', body });
    const count = fake.received.length;
    await expect(run('score', { queries: ['a', 'b'], documents: ['c', 'd'] })).rejects.toMatchObject({
      code: 'validation_error',
      param: 'queries',
    });
    expect(fake.received).toHaveLength(count);
  });
});

describe('moderations', () => {
  const result = (violence: boolean) => ({
    flagged: violence,
    categories: { hate: false, violence },
    category_scores: { hate: 0.000012345678901234, violence: 0.5 },
    category_applied_input_types: { violence: ['text'] },
  });

  it('reads the form of OpenAI, which reports no usage', async () => {
    const results = [result(true), result(false)];
    const { fake, run } = await upstream({ id: 'modr-1', model: 'x', results }, { flavor: 'openai' });
    expect(await run('moderations', { input: ['a', 'b'], user: 'u' })).toEqual({ results, promptTokens: 2 });
    expect(sent(fake)).toEqual({ path: '/v1/moderations', body: { model: 'real-name', input: ['a', 'b'] } });
  });

  it('sends parts without other members, and expects one result', async () => {
    const { fake, run } = await upstream({ results: [result(false)] });
    const url = 'data:image/png;base64,AAAA';
    const input = [
      { type: 'text', text: 'a', name: 'x' },
      { type: 'image_url', image_url: { url, detail: 'low' } },
    ];
    await run('moderations', { input });
    const clean = [
      { type: 'text', text: 'a' },
      { type: 'image_url', image_url: { url } },
    ];
    expect(sent(fake).body).toEqual({ model: 'real-name', input: clean });
  });

  it('reads the form of Mistral, which flags only categories', async () => {
    const results = [{ categories: { pii: true }, category_scores: { pii: 0.9 } }];
    const { run } = await upstream({ results, usage }, { flavor: 'mistral' });
    expect(await run('moderations', { input: 'a' })).toEqual({
      results: [{ ...results[0], flagged: true }],
      promptTokens: 12,
    });
  });

  it.each([
    ['no results', {}],
    ['too few results', { results: [result(true)] }],
    ['results without categories', { results: [{ flagged: true }, { flagged: true }] }],
  ])('rejects %s', async (_, body) => {
    const { run } = await upstream(body);
    const answer = run('moderations', { input: ['a', 'b'] });
    await expect(answer).rejects.toMatchObject({ code: 'invalid_upstream_response' });
  });
});

describe('a server without the endpoint', () => {
  it.each<[DirectKind, object, string]>([
    ['rerank', rank, 'reranking'],
    ['score', { text_1: 'a', text_2: 'b' }, 'scores'],
    ['moderations', { input: 'a' }, 'moderations'],
    ['embeddings', { input: 'a' }, 'embeddings'],
  ])('concerns the model: %s', async (kind, request, name) => {
    const { fake, run } = await upstream({ detail: 'Not Found' }, {}, 404);
    fake.models = (response) => send(response, 200, { data: [{ id: 'real-name' }] });
    await expect(run(kind, request)).rejects.toMatchObject({
      code: 'model_not_found',
      message: `The server of this model does not support ${name} with it.`,
      blame: permanent,
    });
  });

  it.each([
    ['llama-server', 'This server does not support reranking. Start it with `--reranking`'],
    ['vLLM', 'The model does not support Rerank (Score) API'],
  ])('may answer with a 501, which is not its failure: %s', async (_, message) => {
    const { run } = await upstream({ error: { code: 501, message, type: 'not_supported_error' } }, {}, 501);
    await expect(run('rerank', rank)).rejects.toMatchObject({
      code: 'request_refused',
      message: expect.stringContaining(message),
    });
  });
});

it('tries servers out with the smallest request of a kind', async () => {
  const bodies = {
    rerank: { results: relevance([{ index: 0, score: 1 }]) },
    score: { data: [{ score: 1 }] },
    moderations: { results: [{ flagged: false, categories: {} }] },
  };
  for (const [kind, body] of Object.entries(bodies)) {
    const fake = await startFakeUpstream();
    fake.answer = (response) => send(response, 200, body);
    const engine = engineAt(fake.url, { serves: [kind as DirectKind] });
    open.push(fake, { close: () => engine.stop() });
    await engine.start();
    await engine.tryOut(new AbortController().signal);
    expect(fake.received.at(-1)!.path).toBe(`/v1/${kind}`);
  }
});

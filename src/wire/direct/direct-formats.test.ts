import { describe, expect, it } from 'vitest';
import type { DirectKind } from '../../core/model.ts';
import { directFormats, type DirectRequests, type DirectResults } from './direct-formats.ts';
import { parseDirectRequest } from './parse.ts';

const faultsOf = (kind: DirectKind, body: object): string[] =>
  directFormats[kind]
    .check({ model: 'm', ...body })
    .map(({ param, message }) => `${param ?? ''}: ${message}`);

const present = <Kind extends DirectKind>(
  kind: Kind,
  request: Omit<DirectRequests[Kind], 'model'>,
  result: DirectResults[Kind],
) =>
  directFormats[kind].presenter({ ...request, model: 'm' } as DirectRequests[Kind])(result, {
    id: 'id_1',
    created: 7,
    model: 'm',
  });

const image = (url: string) => ({ type: 'image_url' as const, image_url: { url } });
const text = (words: string) => ({ type: 'text' as const, text: words });

describe('a request', () => {
  it.each<[DirectKind, object]>([
    ['rerank', { query: 'q', documents: ['a', { text: 'b' }], top_n: 9, return_documents: false }],
    ['rerank', { query: 'q', documents: ['a'], top_n: null, return_documents: null }],
    ['score', { text_1: 'a', text_2: 'b' }],
    ['score', { text_1: 'a', text_2: 'b', queries: null, documents: null }],
    ['score', { text_1: 'a', text_2: ['b', 'c'] }],
    ['score', { queries: ['a', 'b'], documents: ['c', 'd'] }],
    ['moderations', { input: 'a' }],
    ['moderations', { input: ['a', 'b'] }],
    [
      'moderations',
      { input: [text('a'), image('data:image/png;base64,AAAA'), image('https://a.test/b.png')] },
    ],
  ])('%s may have %j', (kind, body) => {
    expect(faultsOf(kind, body)).toEqual([]);
    expect(parseDirectRequest(kind, JSON.stringify({ model: 'm', ...body })).value).toMatchObject(body);
  });

  it.each<[DirectKind, object, string]>([
    ['rerank', { documents: ['a'] }, 'query: required, but missing'],
    ['rerank', { query: 'q' }, 'documents: required, but missing'],
    ['rerank', { query: 'q', documents: [] }, 'documents: must not be empty'],
    ['rerank', { query: '', documents: ['a'] }, 'query: must not be empty'],
    ['rerank', { query: 'q', documents: ['a', ''] }, 'documents[1]: must not be empty'],
    [
      'rerank',
      { query: 'q', documents: [1] },
      'documents[0]: expected a string or an object with text, got 1',
    ],
    ['rerank', { query: 'q', documents: [{ title: 'a' }] }, 'documents[0].text: required, but missing'],
    ['rerank', { query: 'q', documents: ['a'], top_n: 0 }, 'top_n: expected at least 1, got 0'],
    [
      'rerank',
      { query: 'q', documents: Array.from({ length: 10_001 }, () => 'a') },
      'documents: expected at most 10000 items, got 10001',
    ],
    ['score', {}, 'text_1: required, but missing'],
    ['score', { text_1: 'a' }, 'text_2: required, but missing'],
    ['score', { documents: 'a' }, 'queries: required, but missing'],
    [
      'score',
      { text_1: 'a', text_2: 'b', queries: 'c' },
      'text_1: expected either text_1 and text_2, or queries and documents',
    ],
    [
      'score',
      { text_1: ['a', 'b'], text_2: ['c'] },
      'text_2: expected as many texts as in text_1 (2), or one in text_1; got 1',
    ],
    ['score', { text_1: [1], text_2: 'a' }, 'text_1[0]: expected a string, got 1'],
    ['moderations', {}, 'input: required, but missing'],
    ['moderations', { input: [] }, 'input: must not be empty'],
    [
      'moderations',
      { input: ['a', text('b')] },
      'input[1]: expected a string like the items before it, got an object',
    ],
    [
      'moderations',
      { input: [{ type: 'audio' }] },
      'input[0].type: expected one of "text" or "image_url", got "audio"',
    ],
    ['moderations', { input: [{ type: 'text' }] }, 'input[0].text: required, but missing'],
    [
      'moderations',
      { input: [image('file:///etc/passwd')] },
      'input[0].image_url.url: expected a data: URL, or an https: URL if image_urls is on for the model, got "file:///etc/passwd"',
    ],
  ])('%s may not have %j', (kind, body, fault) => {
    expect(faultsOf(kind, body)[0]).toBe(fault);
  });

  it('for moderations has a default model, in its text too', () => {
    const { value, text: sent } = parseDirectRequest('moderations', '{"input": "a"}');
    expect([value.model, JSON.parse(sent)]).toEqual([
      'omni-moderation-latest',
      { model: 'omni-moderation-latest', input: 'a' },
    ]);
    expect(parseDirectRequest('moderations', '{"model":"m","input":"a"}').text).toBe(
      '{"model":"m","input":"a"}',
    );
    for (const broken of ['[]', 'null', '{', '{"model":null,"input":"a"}'])
      expect(() => parseDirectRequest('moderations', broken)).toThrow(/model|JSON|object/);
    expect(() => parseDirectRequest('rerank', '{"query":"a","documents":["a"]}')).toThrow('model: required');
  });
});

describe('the estimated tokens', () => {
  const tokens = <Kind extends DirectKind>(kind: Kind, body: Omit<DirectRequests[Kind], 'model'>) =>
    directFormats[kind].inputTokens({ model: 'm', ...body } as DirectRequests[Kind]);

  it('count what a model reads', () => {
    expect(tokens('embeddings', { input: ['eightcha', [1, 2] as unknown as string] })).toBe(4);
    expect(tokens('rerank', { query: 'four', documents: ['four', { text: 'eightcha' }] })).toBe(
      2 * 1 + 1 + 2,
    );
    expect(tokens('score', { text_1: 'four', text_2: ['four', 'eightcha'] })).toBe(2 * 1 + 1 + 2);
    expect(tokens('score', { queries: ['four', 'four'], documents: ['four', 'eightcha'] })).toBe(2 + 1 + 2);
    expect(tokens('moderations', { input: ['four', 'eightcha'] })).toBe(3);
    expect(tokens('moderations', { input: [text('four'), image('https://a.test/b')] })).toBe(1_001);
  });
});

describe('an answer', () => {
  const ranking = {
    ranked: [
      { index: 1, score: 0.5 },
      { index: 0, score: -3 },
    ],
    promptTokens: 9,
  };

  it('of rerank has the first results with their documents', () => {
    const documents = ['a', { text: 'b' }];
    const usage = { prompt_tokens: 9, total_tokens: 9 };
    const head = { id: 'id_1', object: 'list', model: 'm', usage };
    const results = [
      { index: 1, relevance_score: 0.5, document: { text: 'b' } },
      { index: 0, relevance_score: -3, document: { text: 'a' } },
    ];
    expect(present('rerank', { query: 'q', documents }, ranking)).toEqual({ ...head, results });
    expect(present('rerank', { query: 'q', documents, top_n: 1, return_documents: false }, ranking)).toEqual({
      ...head,
      results: [{ index: 1, relevance_score: 0.5 }],
    });
    expect(
      present('rerank', { query: 'q', documents, top_n: null, return_documents: null }, ranking),
    ).toEqual({
      ...head,
      results,
    });
  });

  it('of score has one for each pair', () => {
    expect(
      present('score', { text_1: 'a', text_2: ['b', 'c'] }, { scores: [1, 0.25], promptTokens: 4 }),
    ).toEqual({
      id: 'id_1',
      object: 'list',
      created: 7,
      model: 'm',
      data: [
        { index: 0, object: 'score', score: 1 },
        { index: 1, object: 'score', score: 0.25 },
      ],
      usage: { prompt_tokens: 4, total_tokens: 4 },
    });
  });

  it("of moderations has OpenAI's form", () => {
    const results = [{ flagged: true, categories: { violence: true }, category_scores: { violence: 0.9 } }];
    expect(present('moderations', { input: 'a' }, { results, promptTokens: 1 })).toEqual({
      id: 'id_1',
      model: 'm',
      results,
    });
  });
});

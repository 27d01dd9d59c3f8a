import { describe, expect, it } from 'vitest';
import { figuresOf, type FilteredRequest, filterRequests } from './filter.ts';
import { requestsSearch } from './search.ts';

const request = (id: string, more: Partial<FilteredRequest> = {}): FilteredRequest => ({
  id,
  org_id: 'org_1',
  org: 'search',
  key_id: 'key_1',
  key_name: 'ci',
  endpoint: '/v1/chat/completions',
  model: 'qwen3',
  server: 'gpu-1',
  status: 200,
  code: null,
  ms: 100,
  first_ms: null,
  output_tokens: null,
  amount: null,
  ...more,
});

const all = [
  request('req_a'),
  request('req_b', { model: null, server: null, status: 429, code: 'rate_limit_exceeded', org: null }),
  request('req_c', { org_id: 'org_2', org: 'ads', key_id: 'key_2', key_name: 'web', model: 'tiny' }),
  request('req_d', { status: 503, code: 'engine_overloaded', endpoint: '/v1/messages' }),
];
const ids = (search: object) => filterRequests(all, search).map(({ id }) => id.slice(4));

describe('filterRequests', () => {
  it.each([
    [{}, ['a', 'b', 'c', 'd']],
    [{ result: 'failed' }, ['b', 'd']],
    [{ result: 'answered' }, ['a', 'c']],
    [{ result: 'engine_overloaded' }, ['d']],
    [{ model: 'tiny' }, ['c']],
    [{ key: 'key_2' }, ['c']],
    [{ org: 'org_1', result: 'answered' }, ['a']],
    [{ q: ' MESSAGES ' }, ['d']],
    [{ q: 'req_b' }, ['b']],
    [{ q: 'ads' }, ['c']],
    [{ q: 'gpu-1', result: 'failed' }, ['d']],
    [{ q: 'nothing' }, []],
  ])('%j', (search, expected) => {
    expect(ids(search)).toEqual(expected);
  });
});

describe('figuresOf', () => {
  it('counts failures, and times answers alone', () => {
    const requests = [
      ...Array.from({ length: 20 }, (_, n) => request(`${n}`, { ms: n + 1, first_ms: n, amount: '0.25' })),
      request('slow', { ms: 9_000, status: 500, code: 'x', output_tokens: 7 }),
    ];
    expect(figuresOf(requests)).toEqual({
      failed: 1,
      median: 10,
      p95: 19,
      firstMedian: 9,
      outputTokens: 7,
      amount: 5,
    });
  });

  it('has no times without an answer', () => {
    expect(figuresOf([])).toMatchObject({ failed: 0, median: null, p95: null, firstMedian: null });
  });
});

it('requestsSearch keeps what the screen knows, as text', () => {
  expect(requestsSearch({ q: 12, result: 'failed', model: '', other: 'x', key: ['a'] })).toEqual({
    q: '12',
    result: 'failed',
  });
});

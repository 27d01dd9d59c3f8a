import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { chatLine, chatLines } from './support/jsonl.ts';
import { uploadForm } from './support/multipart.ts';
import {
  type CallResult,
  type Json,
  type RunningServer,
  startServer,
  testModels,
} from './support/start-server.ts';

let app: RunningServer;
beforeAll(async () => void (app = await startServer()));
afterAll(() => app.stop());

const endpoint = '/v1/chat/completions';
const window = { endpoint, completion_window: '24h' };
const post = (json: unknown, headers = {}): Promise<CallResult> =>
  app.call('POST', '/v1/batches', { json, headers });
const get = (path: string, key = app.keys.a) =>
  app.call('GET', `/v1/batches${/^(\?|$)/.test(path) ? path : `/${path}`}`, { key });

async function upload(content: string, key = app.keys.a): Promise<string> {
  const { body, headers } = uploadForm(content);
  return (await app.call('POST', '/v1/files', { key, headers, body: body as never })).json.id as string;
}

async function finished(id: string): Promise<Json> {
  await expect.poll(async () => (await get(id)).json.status).toBe('completed');
  return (await get(id)).json;
}

const linesOf = (text: string): Json[] =>
  text
    .split('\n')
    .filter(Boolean)
    .map((line) => JSON.parse(line));

describe('POST /v1/batches', () => {
  it('201: creates and runs a batch from a file, with consistent results and counts', async () => {
    const content = chatLines(4, { content: (n) => (n === 2 ? '[[fail 400]]' : `say ${n} [[tokens 2]]`) });
    const created = await post({
      ...window,
      input_file_id: await upload(content),
      metadata: { team: 'night' },
    });
    expect(created.status).toBe(201);
    expect(created.json).toMatchObject({
      id: expect.stringMatching(/^batch_[0-9a-f]{32}$/),
      object: 'batch',
      endpoint,
      status: 'validating',
      request_counts: { total: 4, completed: 0, failed: 0 },
      metadata: { team: 'night' },
    });
    expect(Date.parse(created.json.expires_at) - Date.parse(created.json.created_at)).toBe(86_400_000);
    const { id } = created.json;
    const batch = await finished(id);
    expect(batch.request_counts).toEqual({ total: 4, completed: 3, failed: 1 });
    const output = await get(`${id}/output`);
    expect(output.headers.get('content-type')).toMatch(/^application\/jsonl/);
    expect(Object.fromEntries(output.headers)).toMatchObject({
      'x-batch-status': 'completed',
      'x-incomplete': 'false',
      'x-last-line': '3',
    });
    expect(linesOf(output.text).map((line) => [line.response.status_code, line.error])).toEqual(
      Array.from({ length: 3 }, () => [200, null]),
    );
    const errors = linesOf((await get(`${id}/errors`)).text);
    expect(errors).toMatchObject([{ custom_id: 'c2', error: { code: expect.any(String) } }]);
    const file = await app.call('GET', `/v1/files/${batch.output_file_id}/content`);
    expect(file.text).toBe(output.text);
  });

  it('201: creates a batch from inline requests, without metadata', async () => {
    const { status, json } = await post({ ...window, requests: [chatLine(0), chatLine(1)] });
    expect(status).toBe(201);
    expect(json).toMatchObject({
      request_counts: { total: 2 },
      metadata: {},
      input_file_id: expect.stringMatching(/^file-/),
    });
    await finished(json.id);
  });

  it('201: returns metadata byte for byte everywhere', async () => {
    const metadata =
      '{"b":1.10,"a":12345678901234567890,"__proto__":{"x":1},"n":"\\u0000","deep":{"1":[null]}}';
    const body = `{"endpoint":"${endpoint}","completion_window":"24h","requests":[${JSON.stringify(chatLine(0))}],"metadata":${metadata}}`;
    const headers = { 'content-type': 'application/json' };
    const created = await app.call('POST', '/v1/batches', { body, headers });
    expect(created.status).toBe(201);
    expect(created.text).toContain(`"metadata":${metadata}`);
    expect((await get(created.json.id)).text).toContain(`"metadata":${metadata}`);
    expect((await get('?limit=1')).text).toContain(`"metadata":${metadata}`);
    expect(({} as Record<string, unknown>)['x']).toBeUndefined();
    await finished(created.json.id);
  });

  it.each<[string, object, string]>([
    ['neither a file nor requests', {}, 'input_file_id'],
    ['both', { input_file_id: 'file-x', requests: [chatLine(0)] }, 'requests'],
    ['an empty list of requests', { requests: [] }, 'requests'],
    ['an unknown file', { input_file_id: `file-${'0'.repeat(32)}` }, 'input_file_id'],
    ['an invalid file ID', { input_file_id: '../x' }, 'input_file_id'],
    ['another window', { completion_window: '1h', requests: [chatLine(0)] }, 'completion_window'],
    ['another endpoint', { endpoint: '/v1/messages', requests: [chatLine(0)] }, 'endpoint'],
    ['requests for another endpoint', { endpoint: '/v1/embeddings', requests: [chatLine(0)] }, 'endpoint'],
    ['an unknown field', { requests: [chatLine(0)], colour: 'red' }, 'colour'],
    ['metadata that is a list', { requests: [chatLine(0)], metadata: [1] }, 'metadata'],
    ['metadata that is a string', { requests: [chatLine(0)], metadata: 'x' }, 'metadata'],
    ['metadata over 16 KiB', { requests: [chatLine(0)], metadata: { x: 'y'.repeat(16_384) } }, 'metadata'],
    [
      'metadata nine levels deep',
      { requests: [chatLine(0)], metadata: { a: { b: { c: { d: { e: { f: { g: { h: {} } } } } } } } } },
      'metadata',
    ],
    [
      'a bad request among good ones',
      { requests: [chatLine(0), { ...chatLine(1), body: { model: 'tiny' } }] },
      'requests[1].body.messages',
    ],
    ['an unknown model', { requests: [chatLine(0, 'nope')] }, 'requests[0].body.model'],
  ])('422: %s', async (_name, body, param) => {
    const before = (await get('')).json.data.length;
    const { status, json } = await post({ ...window, ...body });
    expect([status, json.error.param]).toEqual([422, param]);
    expect((await get('')).json.data.length).toBe(before);
  });

  it('422: without a window; for a file of another org, as for an unknown one', async () => {
    expect((await post({ endpoint, requests: [chatLine(0)] })).json.error.param).toBe('completion_window');
    const foreign = await post({ ...window, input_file_id: await upload(chatLines(1), app.keys.b) });
    const unknown = await post({ ...window, input_file_id: `file-${'0'.repeat(32)}` });
    expect(foreign.status).toBe(422);
    expect({ ...foreign.json, request_id: '' }).toEqual({ ...unknown.json, request_id: '' });
  });

  it('200: a dry run returns the price and stores nothing', async () => {
    const before = (await get('')).json.first_id;
    const { status, json } = await post({ ...window, requests: [chatLine(0)], dry_run: true });
    expect(status).toBe(200);
    expect(json).toMatchObject({ object: 'batch.estimate', request_counts: { total: 1 }, exact_input: true });
    expect(Number(json.cost.list_amount)).toBeCloseTo(Number(json.cost.amount) * 2, 9);
    expect((await get('')).json.first_id).toBe(before);
  });

  it('200: a dry run charges each line the price for the length of its prompt', async () => {
    const long = { input: 200_000_000, cachedInput: 0, output: 0 };
    const prices = { input: 100_000_000, cachedInput: 0, output: 0, tiers: [{ above: 100, ...long }] };
    const tiered = await startServer({ models: [{ ...testModels[0]!, prices }] });
    const dryRun = async (words: number[]) => {
      const requests = words.map((count, n) => chatLine(n, 'tiny', 'word '.repeat(count)));
      const { json } = await tiered.call('POST', '/v1/batches', {
        json: { ...window, requests, dry_run: true },
      });
      return { tokens: json.usage.input_tokens as number, amount: Number(json.cost.list_amount) };
    };
    const [short, long400] = [await dryRun([1]), await dryRun([400])];
    expect(short.amount).toBeCloseTo(short.tokens * 1e-7, 9);
    expect(long400.amount).toBeCloseTo(long400.tokens * 2e-7, 9);
    expect((await dryRun([1, 400])).amount).toBeCloseTo(short.amount + long400.amount, 9);
    await tiered.stop();
  });

  it('201: a repeated call returns the first batch, by idempotency key or SDK retry count', async () => {
    const body = { ...window, requests: [chatLine(0, 'tiny', 'again')] };
    const first = await post(body, { 'idempotency-key': 'b1' });
    const again = await post(body, { 'idempotency-key': 'b1' });
    expect([again.status, again.json.id]).toEqual([201, first.json.id]);
    expect(again.headers.get('idempotent-replayed')).toBe('true');
    const other = await post({ ...body, metadata: {} }, { 'idempotency-key': 'b1' });
    expect([other.status, other.json.error.code]).toEqual([422, 'idempotency_mismatch']);
    const silent = await post(body);
    expect((await post(body, { 'x-stainless-retry-count': '1' })).json.id).toBe(silent.json.id);
  });

  it('413: inline requests above the maximum batch size', async () => {
    const requests = Array.from({ length: 6 }, (_, n) => chatLine(n, 'tiny', 'x'.repeat(400_000)));
    const { status, json } = await post({ ...window, requests });
    expect([status, json.error.code]).toEqual([413, 'payload_too_large']);
  });
});

describe('GET /v1/batches/{id} while it runs', () => {
  it('200: counts errors by code, most frequent first, each with an example message', async () => {
    const contents = ['[[fail 404]]', '[[fail 400]] a', '[[fail 400]] b', '[[hang]]'];
    const { json } = await post({
      ...window,
      requests: contents.map((content, n) => chatLine(n, 'tiny', content)),
    });
    const seen = () => get(json.id).then((batch) => batch.json);
    await expect.poll(async () => (await seen()).request_counts.failed).toBeGreaterThan(1);
    const { status, error_summary } = await seen();
    const lines = linesOf((await get(`${json.id}/errors`)).text);
    expect([status, error_summary[0].count]).toEqual(['in_progress', 2]);
    for (const { code, example } of error_summary)
      expect(lines.map(({ error }) => [error.code, error.message])).toContainEqual([code, example]);
    await app.call('POST', `/v1/batches/${json.id}/cancel`);
  });
});

describe('POST /v1/batches/{id}/cancel', () => {
  it('200: repeatedly; 409 for a finished batch, with x-should-retry: false', async () => {
    const { json } = await post({ ...window, requests: [chatLine(0, 'tiny', '[[hang]]')] });
    const cancel = (id: string) => app.call('POST', `/v1/batches/${id}/cancel`);
    expect((await cancel(json.id)).json.status).toBe('cancelling');
    expect((await cancel(json.id)).status).toBe(200);
    await expect.poll(async () => (await get(json.id)).json.status).toBe('cancelled');
    expect((await cancel(json.id)).json.status).toBe('cancelled');
    const done = await post({ ...window, requests: [chatLine(0)] });
    await finished(done.json.id);
    const refused = await cancel(done.json.id);
    expect([refused.status, refused.json.error.code, refused.headers.get('x-should-retry')]).toEqual([
      409,
      'batch_not_cancellable',
      'false',
    ]);
  });
});

describe('GET /v1/batches/{id}/output while it runs', () => {
  it('200: empty at first, then resumable by line; 422 for an invalid position', async () => {
    const contents = ['a [[tokens 1]]', '[[hang]]'];
    const { json } = await post({
      ...window,
      requests: contents.map((content, n) => chatLine(n, 'tiny', content)),
    });
    const path = `${json.id}/output`;
    await expect.poll(async () => (await get(path)).headers.get('x-last-line')).toBe('1');
    const { headers, text } = await get(path);
    expect([headers.get('x-incomplete'), headers.get('x-batch-status')]).toEqual(['true', 'in_progress']);
    expect(linesOf(text)).toHaveLength(1);
    const rest = await get(`${path}?after=1`);
    expect([rest.status, rest.text, rest.headers.get('x-last-line')]).toEqual([200, '', '1']);
    for (const after of ['-1', 'x', '1.5', '99999999999'])
      expect((await get(`${path}?after=${after}`)).json.error.param).toBe('after');
    const head = await app.call('HEAD', `/v1/batches/${path}`);
    expect([head.status, head.text, head.headers.get('x-last-line')]).toEqual([200, '', '1']);
    await app.call('POST', `/v1/batches/${json.id}/cancel`);
  });
});

describe('GET /v1/batches', () => {
  it('200: newest first, page by page, each batch once', async () => {
    const ids: string[] = [];
    for (let n = 0; n < 3; n++)
      ids.unshift((await post({ ...window, requests: [chatLine(n, 'tiny', `page ${n}`)] })).json.id);
    const seen: string[] = [];
    for (let page: Json, after = ''; !page || (page.has_more && seen.length < 3);) {
      page = (await get(`?limit=1${after}`)).json;
      seen.push(page.last_id);
      after = `&after=${page.last_id}`;
    }
    expect(seen).toEqual(ids);
  });

  it.each([
    'limit=0',
    'limit=-1',
    'limit=101',
    'limit=abc',
    'limit=',
    'after=x',
    'status=done',
    'created_after=soon',
    'limit=1&limit=2',
    'order=up',
    'state=failed',
  ])('422: %s', async (query) => {
    const { status, json } = await get(`?${query}`);
    expect([status, json.error.param]).toEqual([422, query.split('=')[0]]);
  });

  it('200: oldest first on request', async () => {
    const { json: newest } = await get('?limit=2');
    const { json: oldest } = await get('?order=asc&limit=2');
    const [first] = oldest.data;
    expect(first.id < newest.data[0].id).toBe(true);
    const { json: next } = await get(`?order=asc&limit=1&after=${first.id}`);
    expect(next.data[0].id).toBe(oldest.data[1].id);
  });

  it('200: filters and searches the batches of the org, by id, file name and metadata', async () => {
    const requests = [chatLine(0)];
    const json = { ...window, requests, metadata: { name: 'Nightly run', nested: { team: 'Zürich' } } };
    const { id } = (await app.call('POST', '/v1/batches', { json })).json;
    const find = async (query: string, key = app.keys.a) => {
      const { json: page } = await app.call('GET', `/v1/batches?${query}`, { key });
      return page.data.map((each: Json) => [each.id, each.name]);
    };
    const named = [[id, 'Nightly run']];
    expect(await find('q=zürich+NIGHT')).toEqual(named);
    expect(await find(`q=${id.slice(9)}&model=tiny&created_before=2100-01-01T00:00:00Z`)).toEqual(named);
    expect(await find('q=zürich', app.keys.b)).toEqual([]);
    expect(await find('q=zürich&model=other')).toEqual([]);
    expect(await find('q=zürich&waiting=paused')).toEqual([]);
    const { json: refused } = await app.call('GET', '/v1/batches?org=default');
    expect(refused.error.param).toBe('org');
  });

  it('200: ignores parameters of Azure clients, and accepts an unknown or foreign cursor', async () => {
    expect((await get('?api-version=preview')).status).toBe(200);
    expect((await get(`?after=batch_${'0'.repeat(32)}`)).json.data).toEqual([]);
    expect((await get(`?after=batch_${'f'.repeat(32)}&limit=1`)).json.data).toHaveLength(1);
    expect((await get('?status=expired')).json.data).toEqual([]);
    expect((await get('?created_after=2100-01-01T00:00:00Z')).json.data).toEqual([]);
  });
});

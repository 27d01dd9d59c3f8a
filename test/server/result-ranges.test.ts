import { createHash } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { chatLine } from './support/jsonl.ts';
import { type RunningServer, startServer } from './support/start-server.ts';

let app: RunningServer;
let path: string;
let whole: string;
let etag: string;

beforeAll(async () => {
  app = await startServer();
  const requests = Array.from({ length: 5 }, (_, n) => chatLine(n));
  const json = { endpoint: '/v1/chat/completions', completion_window: '24h', requests };
  const { id } = (await app.call('POST', '/v1/batches', { json })).json;
  path = `/v1/batches/${id}`;
  await vi.waitUntil(async () => (await app.call('GET', path)).json.status === 'completed');
  const { text, headers } = await app.call('GET', `${path}/output`);
  whole = text;
  etag = headers.get('etag')!;
});
afterAll(() => app.stop());

const get = (headers: Record<string, string>, query = '', method = 'GET') =>
  app.call(method, `${path}/output${query}`, { headers });

describe('a range of the results of a finished batch', () => {
  it('is offered with the length and a name of the content', async () => {
    const { headers } = await get({}, '', 'HEAD');
    expect(Object.fromEntries(headers)).toMatchObject({
      'accept-ranges': 'bytes',
      'content-length': String(Buffer.byteLength(whole)),
      etag: `"${createHash('sha256').update(whole).digest('hex')}"`,
      'x-last-line': '5',
      'x-incomplete': 'false',
    });
    const file = (await app.call('GET', path)).json.output_file_id as string;
    expect((await app.call('GET', `/v1/files/${file}/content`)).headers.get('etag')).toBe(etag);
  });

  it.each([
    ['bytes=0-9', 0, 10],
    ['bytes=100-', 100, undefined],
    ['bytes=-7', -7, undefined],
  ])('206: %s', async (range, start, end) => {
    const { status, text, headers } = await get({ range });
    expect([status, text]).toEqual([206, whole.slice(start, end)]);
    const size = Buffer.byteLength(whole);
    expect(headers.get('content-range')).toMatch(new RegExp(`^bytes \\d+-\\d+/${size}$`));
    expect(headers.get('x-batch-status')).toBe('completed');
  });

  it('resumes a download under If-Range, and begins again for other content', async () => {
    const resumed = await get({ range: 'bytes=50-', 'if-range': etag });
    expect([resumed.status, whole.slice(0, 50) + resumed.text]).toEqual([206, whole]);
    const other = await get({ range: 'bytes=50-', 'if-range': '"other"' });
    expect([other.status, other.text]).toEqual([200, whole]);
  });

  it('416: lies outside', async () => {
    const { status, headers, json } = await get({ range: 'bytes=999999-' });
    expect([status, json.error.code]).toEqual([416, 'range_not_satisfiable']);
    expect(headers.get('content-range')).toBe(`bytes */${Buffer.byteLength(whole)}`);
  });

  it('is not offered of later lines, of a stream without lines, and of a running batch', async () => {
    const later = await get({ range: 'bytes=0-9' }, '?after=3');
    expect([later.status, later.text.split('\n').length, later.headers.get('accept-ranges')]).toEqual([
      200,
      3,
      null,
    ]);
    const errors = await app.call('GET', `${path}/errors`, { headers: { range: 'bytes=0-9' } });
    expect([errors.status, errors.text, errors.headers.get('accept-ranges')]).toEqual([200, '', null]);
    const json = {
      endpoint: '/v1/chat/completions',
      completion_window: '24h',
      requests: [chatLine(0, 'tiny', 'say a [[hang]]'), chatLine(1)],
    };
    const { id } = (await app.call('POST', '/v1/batches', { json })).json;
    const running = () => app.call('GET', `/v1/batches/${id}/output`, { headers: { range: 'bytes=0-9' } });
    await expect.poll(async () => (await running()).headers.get('x-last-line')).toBe('1');
    expect((await running()).status).toBe(200);
    expect((await running()).text).toMatch(/\n$/);
  });
});

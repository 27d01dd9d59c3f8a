import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import type { Inference } from '../../src/inference/inference.ts';
import { routes } from '../../src/server/routes/routes.ts';
import { sendRaw } from './support/raw-http.ts';
import { type CallResult, type RunningServer, startServer } from './support/start-server.ts';

let app: RunningServer;
beforeAll(async () => void (app = await startServer()));
afterAll(() => app.stop());

/** Fields that both SDK families read from an error (api.md, section 2). */
function expectErrorBody({ status, headers, json }: CallResult, where: 'body' | 'query' = 'body'): void {
  expect(json).toMatchObject({
    type: 'error',
    error: { type: expect.any(String), code: expect.any(String), message: expect.any(String) },
    request_id: headers.get('x-request-id'),
  });
  expect(json.message).toBe(json.error.message);
  expect(json.error).toHaveProperty('param');
  if (status !== 422) return;
  expect(json.detail[0]).toEqual({
    loc: expect.arrayContaining([where]),
    msg: expect.any(String),
    type: 'value_error',
  });
}

const faults: [number, () => Promise<CallResult>, where?: 'query'][] = [
  [401, () => app.call('GET', '/v1/batches', { key: null })],
  [403, () => app.call('GET', '/v1/batches', { key: app.keys.admin })],
  [404, () => app.call('GET', `/v1/batches/batch_${'0'.repeat(32)}`)],
  [404, () => app.call('GET', '/v1/nothing')],
  [404, () => app.call('GET', '/v1/files/%zz')],
  [405, () => app.call('PUT', '/v1/batches')],
  [413, () => app.call('POST', '/v1/embeddings', { json: { model: 'tiny', input: 'x'.repeat(1_000_001) } })],
  [415, () => app.call('POST', '/v1/batches', { body: 'x', headers: { 'content-type': 'text/plain' } })],
  [422, () => app.call('POST', '/v1/batches', { json: {} })],
  [422, () => app.call('GET', '/v1/files?order=up'), 'query'],
  [
    502,
    () =>
      app.call('POST', '/v1/chat/completions', {
        json: { model: 'tiny', messages: [{ role: 'user', content: '[[fail 500]]' }] },
      }),
  ],
];

describe('every error', () => {
  it.each(faults)('%i: has the standard body and both request IDs', async (status, fault, where) => {
    const answer = await fault();
    expect(answer.status).toBe(status);
    expect(answer.headers.get('content-type')).toBe('application/json; charset=utf-8');
    expect(answer.headers.get('x-request-id')).toMatch(/^req_[0-9a-f]{32}$/);
    expect(answer.headers.get('request-id')).toBe(answer.headers.get('x-request-id'));
    expectErrorBody(answer, where);
  });
});

describe('404', () => {
  it('names the fix when the base URL has /v1 twice or not at all', async () => {
    expect((await app.call('POST', '/v1/v1/messages', { json: {} })).json.message).toMatch(/without \/v1/);
    expect((await app.call('POST', '/chat/completions', { json: {} })).json.message).toMatch(/with \/v1/);
  });

  it.each([
    'x',
    `batch_${'0'.repeat(31)}`,
    `batch_${'A'.repeat(32)}`,
    `file-${'0'.repeat(32)}`,
    `batch_${'0'.repeat(32)}%00`,
    '%00',
    '..%2F..%2Fetc',
    'b'.repeat(10_000),
    'batch_%E2%9C%A8',
    `batch_${'0'.repeat(32)}%20`,
  ])('is the answer to the malformed ID %s, without a database lookup', async (id) => {
    const asked = vi.spyOn(app.store.batches, 'get');
    for (const [method, suffix] of [
      ['GET', ''],
      ['POST', '/cancel'],
      ['GET', '/output'],
      ['GET', '/errors'],
    ] as const) {
      const { status, json } = await app.call(method, `/v1/batches/${id}${suffix}`);
      expect([status, json.error.message]).toEqual([404, 'No such batch.']);
    }
    expect(asked).not.toHaveBeenCalled();
    asked.mockRestore();
  });
});

describe('405', () => {
  it.each([
    ['PUT', '/v1/batches', 'POST, GET, HEAD'],
    ['OPTIONS', '/v1/batches', 'POST, GET, HEAD'],
    ['PATCH', `/v1/files/file-${'0'.repeat(32)}`, 'GET, HEAD, DELETE'],
    ['GET', '/v1/embeddings', 'POST'],
    ['HEAD', '/v1/embeddings', 'POST'],
    ['DELETE', '/v1/models/org/model:tag', 'GET, HEAD'],
    ['POST', '/healthz', 'GET, HEAD'],
    ['POST', '/v1/batches/counts', 'GET, HEAD'],
    ['GET', `/v1/batches/batch_${'0'.repeat(32)}/cancel`, 'POST'],
  ])('%s %s lists the allowed methods', async (method, path, allow) => {
    const { status, headers } = await app.call(method, path);
    expect([status, headers.get('allow')]).toEqual([405, allow]);
  });

  // Checks only 405 and its headers; other tests cover the allowed methods.
  it.each([...new Set(routes.map(({ path }) => path))])(
    'B48: rejects every other method on %s',
    async (path) => {
      const url = path
        .replace('*', 'tiny')
        .replaceAll(/:(\w+)_id/g, (_, what: string) => `${what}${'0'.repeat(32)}`);
      // The path of one route may match the parameter of another.
      const here = routes.filter((route) =>
        new RegExp(`^${route.path.replace('*', '.+').replaceAll(/:\w+/g, '[^/]+')}$`).test(url),
      );
      const allowed = new Set(
        here.flatMap(({ method }) => (method === 'GET' ? ['GET', 'HEAD'] : [method as string])),
      );
      for (const method of ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS', 'PROPFIND']) {
        if (allowed.has(method)) continue;
        const { status, headers, json } = await app.call(method, url);
        expect([method, status]).toEqual([method, 405]);
        expect(headers.get('allow')!.split(', ').toSorted()).toEqual([...allowed].toSorted());
        if (method !== 'HEAD') expect(json.error.code).toBe('method_not_allowed');
      }
    },
  );
});

describe('500 (C25)', () => {
  const inside = [
    new Error('SELECT * FROM keys WHERE hash = 1 -- /var/lib/offpeak/db.sqlite'),
    new TypeError("Cannot read properties of undefined (reading 'token')"),
    Object.assign(new Error('connect ECONNREFUSED 10.0.0.7:5432'), { code: 'ECONNREFUSED' }),
    { secret: 'sk-upstream' },
    'just text',
    undefined,
  ];

  it.each(inside.map((thrown) => [thrown]))(
    'hides %s from the client and logs it in full',
    async (thrown) => {
      const inference = {
        chat: () => Promise.reject(thrown),
        chatStream: () => ({ [Symbol.asyncIterator]: () => ({ next: () => Promise.reject(thrown) }) }),
      } as unknown as Inference;
      const broken = await startServer({ inference });
      for (const stream of [false, true]) {
        const answer = await broken.call('POST', '/v1/chat/completions', {
          json: { model: 'tiny', messages: [{ role: 'user', content: 'x' }], stream },
        });
        expect(answer.status).toBe(500);
        expectErrorBody(answer);
        expect(answer.json.error).toMatchObject({ type: 'server_error', code: 'internal_error' });
        expect(answer.text).not.toMatch(/SELECT|sqlite|undefined|10\.0|sk-|just text|\.ts/);
        await expect
          .poll(
            () => broken.logged.find(({ fields }) => fields['request_id'] === answer.json.request_id)?.level,
          )
          .toBe('error');
      }
      await broken.stop();
    },
  );
});

describe('headers of every response', () => {
  it('include anthropic-version as sent; x-client-request-id goes to the log', async () => {
    const headers = {
      'anthropic-version': '2099-01-01',
      'x-client-request-id': 'client-7',
      'anthropic-beta': 'unknown-1',
    };
    const { status, headers: answered } = await app.call('GET', '/v1/models', { headers });
    expect([status, answered.get('anthropic-version')]).toEqual([200, '2099-01-01']);
    await expect
      .poll(() => app.logged.some(({ fields }) => fields['client_request_id'] === 'client-7'))
      .toBe(true);
  });
});

it('hide unknown paths from the log', async () => {
  expect((await app.call('GET', '/v1/none/sk-offpeak-in-a-path?key=in-a-query')).status).toBe(404);
  await expect.poll(() => app.logged.some(({ fields }) => fields['route'] === 'unknown')).toBe(true);
  expect(JSON.stringify(app.logged)).not.toMatch(/in-a-path|in-a-query/);
});

describe('C16: requests that no client library sends', () => {
  const head = () => `Host: x\r\nAuthorization: Bearer ${app.keys.a}\r\n`;

  it.each<[string, () => string, RegExp]>([
    [
      'two Content-Lengths',
      () => `POST /v1/files HTTP/1.1\r\n${head()}Content-Length: 1\r\nContent-Length: 2\r\n\r\nx`,
      /^HTTP\/1.1 400 /,
    ],
    [
      'Content-Length and chunked',
      () =>
        `POST /v1/files HTTP/1.1\r\n${head()}Content-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n`,
      /^HTTP\/1.1 400 /,
    ],
    [
      'another transfer coding',
      () => `POST /v1/files HTTP/1.1\r\n${head()}Transfer-Encoding: xchunked\r\n\r\n`,
      /^HTTP\/1.1 400 /,
    ],
    [
      'chunked before identity',
      () => `POST /v1/files HTTP/1.1\r\n${head()}Transfer-Encoding: chunked, identity\r\n\r\n`,
      /^HTTP\/1.1 400 /,
    ],
    [
      'a transfer coding in HTTP/1.0 (attack 11)',
      () =>
        `POST /v1/files HTTP/1.0\r\n${head()}Connection: keep-alive\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n`,
      /^HTTP\/1.1 400 [^]*HTTP\/1.0 does not support Transfer-Encoding/,
    ],
    [
      'a transfer coding in HTTP/1.0 without a key (attack 11)',
      () => 'GET /nothing HTTP/1.0\r\nConnection: keep-alive\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n',
      /^HTTP\/1.1 400 /,
    ],
    ['bare line feeds', () => 'GET /healthz HTTP/1.1\nHost: x\n\n', /^HTTP\/1.1 400 /],
    ['a space before the colon', () => 'GET /healthz HTTP/1.1\r\nHost : x\r\n\r\n', /^HTTP\/1.1 400 /],
    ['a folded header', () => 'GET /healthz HTTP/1.1\r\nHost: x\r\nX: a\r\n b\r\n\r\n', /^HTTP\/1.1 400 /],
    ['no Host', () => 'GET /healthz HTTP/1.1\r\n\r\n', /^HTTP\/1.1 400 /],
    [
      'a header of 17 kB',
      () => `GET /healthz HTTP/1.1\r\nHost: x\r\nX: ${'y'.repeat(17_000)}\r\n\r\n`,
      /^HTTP\/1.1 431 /,
    ],
    ['another protocol', () => 'SSH-2.0-OpenSSH_9.2\r\n\r\n', /^HTTP\/1.1 400 /],
    [
      'a bad chunk size',
      () =>
        `POST /v1/chat/completions HTTP/1.1\r\n${head()}Content-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n`,
      /^HTTP\/1.1 400 /,
    ],
  ])('%s are rejected and the connection is closed', async (_name, text, expected) => {
    expect(await sendRaw(app.url, text())).toMatch(expected);
  });

  const websocket = 'Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\n';
  it.each([
    [
      'headers that are too large',
      () => `GET /healthz HTTP/1.1\r\nHost: x\r\nX: ${'y'.repeat(17_000)}\r\n\r\n`,
      'headers_too_large',
    ],
    ['a missing Host', () => 'GET /healthz HTTP/1.1\r\n\r\n', 'malformed_request'],
    [
      'an invalid WebSocket handshake',
      () => `GET /v1/responses HTTP/1.1\r\n${head()}${websocket}Sec-WebSocket-Key: x\r\n\r\n`,
      'malformed_request',
    ],
  ])('rejections of %s have the standard body too', async (_name, text, code) => {
    const answer = await sendRaw(app.url, text());
    const body = JSON.parse(answer.slice(answer.indexOf('\r\n\r\n') + 4)) as {
      request_id: string;
      error: { code: string };
    };
    expect(body.error.code).toBe(code);
    expect(answer.toLowerCase()).toContain(`x-request-id: ${body.request_id}`);
  });

  it('serves HTTP/1.0, any Expect and pipelining', async () => {
    expect(await sendRaw(app.url, 'GET /healthz HTTP/1.0\r\n\r\n')).toMatch(/^HTTP\/1.1 200 OK/);
    const unknown = 'GET /healthz HTTP/1.1\r\nHost: x\r\nConnection: close\r\nExpect: more\r\n\r\n';
    expect(await sendRaw(app.url, unknown)).toMatch(/^HTTP\/1.1 200 OK/);
    const body = JSON.stringify({ model: 'tiny', input: 'x' });
    const expecting = await sendRaw(
      app.url,
      `POST /v1/embeddings HTTP/1.1\r\n${head()}Connection: close\r\nExpect: 100-continue\r\nContent-Type: application/json\r\nContent-Length: ${body.length}\r\n\r\n${body}`,
    );
    expect(expecting).toMatch(/^HTTP\/1.1 100 Continue\r\n\r\nHTTP\/1.1 200 OK/);
    const pipelined = await sendRaw(
      app.url,
      'GET /healthz HTTP/1.1\r\nHost: x\r\n\r\nGET /nothing HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n',
    );
    expect(pipelined.match(/HTTP\/1.1 \d+/g)).toEqual(['HTTP/1.1 200', 'HTTP/1.1 404']);
  });
});

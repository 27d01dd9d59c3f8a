import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { makeKey } from '../../src/accounts/keys.ts';
import { systemRandom } from '../../src/base/system.ts';
import { serverActor } from '../../src/core/audit.ts';
import { routes } from '../../src/server/routes/routes.ts';
import { buildConsole } from '../console/support/build-console.ts';
import { createManualClock } from '../support/manual-clock.ts';
import { openRaw } from './support/raw-http.ts';
import { type CallOptions, type RunningServer, startServer } from './support/start-server.ts';

// The server's part of the console: its session, its copy of the API, and its files.

let app: RunningServer;
beforeAll(async () => {
  buildConsole();
  app = await startServer();
});
afterAll(() => app.stop());

/** Request as a page of the console sends it. */
const asPage = (method: string, path: string, options: CallOptions = {}) =>
  app.call(method, path, {
    key: null,
    ...options,
    headers: { origin: app.url, 'sec-fetch-site': 'same-origin', ...options.headers },
  });
const signIn = (key: string, headers = {}) => asPage('POST', '/console/session', { json: { key }, headers });

/** Cookie of a new session. */
async function cookieOf(key: string): Promise<string> {
  const { status, headers } = await signIn(key);
  expect(status).toBe(201);
  return headers.get('set-cookie')!.split(';')[0]!;
}

describe('POST /console/session', () => {
  it('exchanges a key for a cookie that scripts cannot read, and says whose it is', async () => {
    const { status, headers, json } = await signIn(app.keys.admin);
    expect(status).toBe(201);
    expect(json).toMatchObject({ object: 'console_session', scopes: ['admin'], version: '1.2.3' });
    expect(Date.parse(json.expires_at)).toBeGreaterThan(Date.now() + 11.9 * 3_600_000);
    const [cookie, ...attributes] = headers.get('set-cookie')!.split('; ');
    expect(cookie).toMatch(new RegExp(`^offpeak_console_${new URL(app.url).port}=[\\w-]{43}$`));
    expect(attributes.toSorted()).toEqual(['HttpOnly', 'Max-Age=43200', 'SameSite=Strict']);
    expect(headers.get('cache-control')).toBe('no-store');
    expect(JSON.stringify(json)).not.toContain(app.keys.admin);
  });

  it('marks the cookie as secure where the page came over TLS', async () => {
    const { headers } = await signIn(app.keys.a, { origin: app.url.replace('http:', 'https:') });
    expect(headers.get('set-cookie')).toMatch(/; Secure$/);
  });

  it.each([
    ['an unknown key', { key: makeKey(systemRandom) }, 401, 'invalid_api_key'],
    ['a typo', { key: 'sk-offpeak-x' }, 401, 'invalid_api_key'],
    ['no key', {}, 422, 'validation_error'],
    ['spaces', { key: 'a b' }, 422, 'validation_error'],
    ['a number', { key: 7 }, 422, 'validation_error'],
    ['a long text', { key: 'k'.repeat(1_001) }, 422, 'validation_error'],
  ])('refuses %s, and sets no cookie', async (_what, json, status, code) => {
    const answer = await asPage('POST', '/console/session', { json });
    expect([answer.status, answer.json.error.code]).toEqual([status, code]);
    expect(answer.headers.get('set-cookie')).toBeNull();
  });

  it('C17: is paced like other requests without a key, whatever the key', async () => {
    const clock = createManualClock();
    const statuses: number[] = [];
    const paced = await startServer({
      clock,
      limits: { anonymousPerSecond: 20 },
      onAnswered: ({ status }) => void statuses.push(status),
    });
    const opened = await Promise.all(
      Array.from({ length: 103 }, async () => {
        const body = JSON.stringify({ key: makeKey(systemRandom) });
        const { host } = new URL(paced.url);
        const connection = await openRaw(paced.url);
        connection.write(
          `POST /console/session HTTP/1.1\r\nHost: ${host}\r\nOrigin: http://${host}\r\n` +
            `Content-Type: application/json\r\nContent-Length: ${body.length}\r\n\r\n${body}`,
        );
        return connection;
      }),
    );
    await expect.poll(() => statuses.length).toBe(100);
    for (let more = 1; more <= 3; more++) {
      await clock.advance(50);
      await expect.poll(() => statuses.length).toBe(100 + more);
    }
    expect(new Set(statuses)).toEqual(new Set([401]));
    for (const { socket } of opened) socket.destroy();
    await paced.stop();
  });
});

describe('GET and DELETE /console/session', () => {
  it('tell who is signed in, and end the session', async () => {
    const cookie = await cookieOf(app.keys.a);
    const mine = () => asPage('GET', '/console/session', { headers: { cookie } });
    expect((await mine()).json).toMatchObject({ org: expect.any(String), scopes: expect.any(Array) });
    const ended = await asPage('DELETE', '/console/session', { headers: { cookie } });
    expect(ended.status).toBe(200);
    expect(ended.headers.get('set-cookie')).toMatch(/^offpeak_console_\d+=; .*Max-Age=0/);
    expect((await mine()).text).toBe('null');
  });

  it('answer null without a session', async () => {
    for (const cookie of ['', 'offpeak_console=x', 'a=b; c'])
      expect((await asPage('GET', '/console/session', { headers: { cookie } })).text).toBe('null');
    expect((await asPage('DELETE', '/console/session')).status).toBe(200);
  });
});

describe('/console/api', () => {
  it('has every route of the API that needs a key, and the same answers', async () => {
    const cookie = await cookieOf(app.keys.a);
    for (const path of ['/v1/models', '/v1/batches', '/v1/files?limit=1', '/v1/batches/batch_none']) {
      const page = await asPage('GET', `/console/api${path}`, { headers: { cookie } });
      const direct = await app.call('GET', path);
      const comparable = ({ status, json }: typeof page) => [status, { ...json, request_id: '' }];
      expect(comparable(page)).toEqual(comparable(direct));
      expect(page.headers.get('cache-control')).toBe('no-store');
    }
    for (const { method, path, access } of routes.filter((route) => route.access !== 'open')) {
      const { json } = await asPage(method, `/console/api${path.replaceAll(/:\w+/g, 'x')}`, {});
      expect([method, path, access, json.error.code]).toEqual([method, path, access, 'session_ended']);
    }
  });

  it('creates files and batches, and streams answers', async () => {
    const cookie = await cookieOf(app.keys.a);
    const body = new FormData();
    body.set('purpose', 'batch');
    const line = {
      custom_id: '1',
      method: 'POST',
      url: '/v1/chat/completions',
      body: { model: 'tiny', messages: [{ role: 'user', content: 'Hello' }] },
    };
    body.set('file', new Blob([JSON.stringify(line)]), 'input.jsonl');
    const file = await asPage('POST', '/console/api/v1/files', { body, headers: { cookie } });
    expect([file.status, file.json.purpose]).toEqual([201, 'batch']);
    const chat = await asPage('POST', '/console/api/v1/chat/completions', {
      json: { ...line.body, stream: true },
      headers: { cookie },
    });
    expect(chat.text).toMatch(/data: \[DONE\]\n\n$/);
  });

  it('has the scopes of the key', async () => {
    const cookie = await cookieOf(app.keys.a);
    const { status, json } = await asPage('GET', '/console/api/v1/admin/queue', { headers: { cookie } });
    expect([status, json.error.code]).toEqual([403, 'permission_denied']);
  });

  it('ignores keys in headers, and /v1 ignores the cookie', async () => {
    const cookie = await cookieOf(app.keys.a);
    const withKey = await asPage('GET', '/console/api/v1/models', {
      headers: { authorization: `Bearer ${app.keys.a}` },
    });
    expect([withKey.status, withKey.json.error.code]).toEqual([401, 'session_ended']);
    const withCookie = await asPage('GET', '/v1/models', { headers: { cookie } });
    expect([withCookie.status, withCookie.json.error.code]).toEqual([401, 'invalid_api_key']);
  });

  it('C03: refuses the session of a revoked key', async () => {
    const [org] = await app.accounts.orgs.list();
    const { apiKey, key } = await app.accounts.keys.create(serverActor, { orgId: org!.id });
    const cookie = await cookieOf(key);
    const models = () => asPage('GET', '/console/api/v1/models', { headers: { cookie } });
    expect((await models()).status).toBe(200);
    await app.accounts.keys.revoke(serverActor, apiKey.id);
    expect((await models()).json.error.code).toBe('session_ended');
  });

  it('lists what the console answered among the requests, without the prefix', async () => {
    const cookie = await cookieOf(app.keys.a);
    const json = { model: 'tiny', messages: [{ role: 'user', content: 'Hi' }] };
    await asPage('POST', '/console/api/v1/chat/completions', { json, headers: { cookie } });
    const { json: list } = await app.call('GET', '/v1/admin/requests?limit=1', { key: app.keys.admin });
    expect(list.data[0]).toMatchObject({ endpoint: '/v1/chat/completions', status: 200 });
  });

  it('does not serve unknown paths as a screen', async () => {
    for (const path of ['api/v1/nothing', 'api', 'v1/batches', 'v1', 'v2/models']) {
      const { status, json } = await asPage('GET', `/console/${path}`);
      expect([path, status, json?.error.code]).toEqual([path, 404, 'not_found']);
    }
  });
});

describe('C18: a page of another origin', () => {
  const own = () => app.url;
  const cases: [what: string, headers: () => Record<string, string>, isAllowed: 'no' | 'read' | 'all'][] = [
    ['the page itself', () => ({ origin: own(), 'sec-fetch-site': 'same-origin' }), 'all'],
    [
      'the page itself, behind a proxy that changes the host',
      () => ({ origin: 'https://a.example', 'sec-fetch-site': 'same-origin' }),
      'all',
    ],
    ['the page itself, without Sec-Fetch-Site', () => ({ origin: own() }), 'all'],
    ['an address typed by hand', () => ({ 'sec-fetch-site': 'none' }), 'read'],
    ['no browser', () => ({}), 'read'],
    ['another site', () => ({ origin: 'https://evil.example', 'sec-fetch-site': 'cross-site' }), 'no'],
    ['another port', () => ({ origin: 'http://127.0.0.1:1', 'sec-fetch-site': 'same-site' }), 'no'],
    ['another site, without Sec-Fetch-Site', () => ({ origin: 'https://evil.example' }), 'no'],
    ['another port, without Sec-Fetch-Site', () => ({ origin: 'http://127.0.0.1:1' }), 'no'],
    ['a sandboxed frame', () => ({ origin: 'null' }), 'no'],
    ['a link or an image', () => ({ 'sec-fetch-site': 'cross-site' }), 'no'],
  ];

  it.each(cases)('gets what it may: %s', async (_what, headers, isAllowed) => {
    const cookie = await cookieOf(app.keys.a);
    const send = async (method: string, path: string, json?: object) => {
      const { status } = await app.call(method, path, {
        key: null,
        headers: { cookie, ...headers() },
        ...(json && { json }),
      });
      return status !== 403;
    };
    expect({
      read: await send('GET', '/console/api/v1/models'),
      session: await send('GET', '/console/session'),
      write: await send('POST', '/console/api/v1/chat/completions', { model: 'tiny', messages: [] }),
      signIn: await send('POST', '/console/session', { key: app.keys.a }),
      signOut: await send('DELETE', '/console/session'),
    }).toEqual({
      read: isAllowed !== 'no',
      session: isAllowed !== 'no',
      write: isAllowed === 'all',
      signIn: isAllowed === 'all',
      signOut: isAllowed === 'all',
    });
  });

  it('cannot use a session under the name of another host', async () => {
    const cookie = await cookieOf(app.keys.a);
    const connection = await openRaw(app.url);
    const { port } = new URL(app.url);
    connection.write(
      `GET /console/api/v1/models HTTP/1.1\r\nHost: evil.example:${port}\r\nCookie: ${cookie}\r\n\r\n`,
    );
    expect(await connection.until('session_ended')).toContain('401');
    connection.socket.destroy();
  });
});

describe('the files of the console', () => {
  const page = (path = '/console/') =>
    app.call('GET', path, { key: null, headers: { 'accept-encoding': 'identity' } });

  it('C10: are a page at every address of a screen, with a policy that allows no inline code', async () => {
    const start = await page();
    expect(start.status).toBe(200);
    expect(start.headers.get('cache-control')).toBe('no-cache');
    const policy = start.headers.get('content-security-policy')!;
    for (const rule of ["default-src 'none'", "script-src 'self'", "style-src 'self'", "connect-src 'self'"])
      expect(policy).toContain(rule);
    for (const rule of ["frame-ancestors 'none'", "base-uri 'none'", "form-action 'self'"])
      expect(policy).toContain(rule);
    expect(policy).not.toMatch(/unsafe|nonce|https?:|\*/);
    expect(start.headers.get('x-content-type-options')).toBe('nosniff');
    expect(start.text).not.toMatch(/<script(?![^>]*\bsrc=)|<style|\son\w+=|style=/);
    for (const path of ['/console/batches', '/console/batches/batch_1?tab=lines'])
      // The paths of its files are relative, so that a proxy may serve it below another path.
      expect((await page(path)).text).toBe(
        start.text.replaceAll('="./', path.includes('batch_1') ? '="../' : '="./'),
      );
  });

  it('are cached for ever by the hash in their name, and compressed', async () => {
    const { text } = await page();
    const assets = [...text.matchAll(/(?:src|href)="\.(\/assets\/[^"]+)"/g)].map(
      ([, path]) => `/console${path!}`,
    );
    expect(assets.length).toBeGreaterThan(1);
    for (const path of assets) {
      const plain = await page(path);
      expect([path, plain.status]).toEqual([path, 200]);
      expect(plain.headers.get('cache-control')).toBe('public, max-age=31536000, immutable');
      expect(plain.headers.get('content-type')).toMatch(/javascript|css|svg/);
      const response = await fetch(app.url + path, { headers: { 'accept-encoding': 'gzip' } });
      expect(response.headers.get('content-encoding')).toBe('gzip');
      expect(await response.text()).toBe(plain.text);
    }
  });

  it.each(['/console/assets/none-123.js', '/console/assets/..%2f.sources', '/console/.sources/'])(
    'are no others: %s',
    async (path) => {
      const { text, status } = await page(path);
      expect(status === 404 || text.startsWith('<!doctype html>')).toBe(true);
      expect(text).not.toMatch(/^[0-9a-f]{64}$/);
    },
  );

  it('are linked from the pages, and /console leads to them', async () => {
    expect((await page('/docs/')).text).toContain('href="../console/"');
    const response = await fetch(`${app.url}/console`, { redirect: 'manual' });
    expect([response.status, response.headers.get('location')]).toEqual([308, 'console/']);
  });
});

it('console: false serves no console', async () => {
  const without = await startServer({ console: false });
  for (const path of ['/console', '/console/', '/console/session', '/console/api/v1/models'])
    expect([path, (await without.call('GET', path, { key: null })).status]).toEqual([path, 404]);
  expect((await without.call('GET', '/docs/', { key: null })).text).not.toContain('console/"');
  expect((await without.call('GET', '/v1/models')).status).toBe(200);
  await without.stop();
});

import { readFileSync } from 'node:fs';
import { readdir, readFile } from 'node:fs/promises';
import * as fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { serverActor } from '../../src/core/audit.ts';
import { type KeyScope, scopes } from '../../src/core/org.ts';
import { makeKey } from '../../src/accounts/keys.ts';
import { systemRandom } from '../../src/base/system.ts';
import { routes } from '../../src/server/routes/routes.ts';
import { createManualClock } from '../support/manual-clock.ts';
import { chatLines } from './support/jsonl.ts';
import { uploadForm } from './support/multipart.ts';
import { openRaw, sendRaw } from './support/raw-http.ts';
import { type RunningServer, startServer } from './support/start-server.ts';

let app: RunningServer;
beforeAll(async () => void (app = await startServer()));
afterAll(() => app.stop());

const guarded = routes.filter((route) => route.access !== 'open');
const pathOf = (path: string) => path.replace(/:[^/]+|\*/, 'x');
const named = guarded.map((route) => [`${route.method} ${route.path}`, route] as const);

describe('without a valid key', () => {
  it.each(named)('401, C03: rejects %s before reading anything else', async (_name, { method, path }) => {
    const cases: (Record<string, string> | null)[] = [
      null,
      { authorization: `Bearer ${makeKey(systemRandom)}` },
      { authorization: app.keys.a },
      { 'x-api-key': app.keys.a },
    ];
    for (const headers of cases) {
      const answer = await app.call(method, pathOf(path), { key: null, headers: headers ?? {} });
      expect(answer.status, JSON.stringify(headers)).toBe(401);
      expect(answer.json.error).toMatchObject({ type: 'authentication_error', code: 'invalid_api_key' });
      expect(answer.headers.get('www-authenticate')).toBe('Bearer');
    }
  });

  it('401, C03: x-api-key alone gets a hint on what to send', async () => {
    const { json } = await app.call('GET', '/v1/models', { key: null, headers: { 'x-api-key': app.keys.a } });
    expect(json.message).toMatch(/Authorization: Bearer/);
    const page = await readFile('docs/clients.md', 'utf8');
    for (const setting of [
      'ANTHROPIC_AUTH_TOKEN',
      'authToken',
      'auth_token',
      'extra_headers',
      'authHeader',
    ]) {
      expect(json.message).toContain(setting);
      expect(page).toContain(setting);
    }
  });

  it('200: prefers Authorization over x-api-key', async () => {
    const { status } = await app.call('GET', '/v1/models', { headers: { 'x-api-key': 'anything' } });
    expect(status).toBe(200);
  });

  it('400: rejects two Authorization headers, which Node would merge silently', async () => {
    const line = `Authorization: Bearer ${app.keys.a}\r\n`;
    for (const second of [line, 'authorization: Bearer x\r\n', 'AUTHORIZATION: \r\n']) {
      const answer = await sendRaw(
        app.url,
        `GET /v1/models HTTP/1.1\r\nHost: x\r\nConnection: close\r\n${line}${second}\r\n`,
      );
      expect(answer).toMatch(/^HTTP\/1.1 400 /);
      expect(answer).toContain('"code":"duplicate_authorization"');
    }
  });

  it.each(['Host', 'Content-Type'])(
    '400: rejects two %s headers, which Node would merge silently',
    async (name) => {
      for (const second of [
        `${name}: application/json`,
        `${name.toLowerCase()}: y`,
        `${name.toUpperCase()}: `,
      ]) {
        const lines = `Host: x\r\nContent-Type: application/json\r\nAuthorization: Bearer ${app.keys.a}\r\n${second}\r\n`;
        const answer = await sendRaw(
          app.url,
          `POST /v1/embeddings HTTP/1.1\r\nConnection: close\r\nContent-Length: 2\r\n${lines}\r\n{}`,
        );
        expect(answer).toMatch(/^HTTP\/1.1 400 /);
        expect(answer).toContain('"code":"duplicate_header"');
      }
    },
  );

  it('401 or 400, C03: rejects any malformed Authorization without a database lookup', async () => {
    const asked = vi.spyOn(app.store.keys, 'findByHashes');
    const printable = fc.string({
      unit: fc.integer({ min: 0x20, max: 0xff }).map((code) => String.fromCharCode(code)),
      maxLength: 200,
    });
    const header = fc.oneof(
      printable,
      printable.map((text) => `Bearer ${text}`),
      fc.constantFrom(
        "Bearer ' OR 1=1 --",
        'Bearer sk-offpeak-',
        'Bearer null',
        'Basic Og==',
        'bearer\t',
        'Bearer %00',
      ),
      printable.map((text) => `Bearer sk-offpeak-${text}`),
    );
    const value = fc.oneof(header, fc.tuple(header, header));
    await fc.assert(
      fc.asyncProperty(value, async (sent) => {
        const values = typeof sent === 'string' ? [sent] : sent;
        const lines = values.map((text) => `Authorization: ${text}\r\n`).join('');
        const request = `GET /v1/models HTTP/1.1\r\nHost: x\r\nConnection: close\r\n${lines}\r\n`;
        const answer = await sendRaw(app.url, Buffer.from(request, 'latin1'));
        expect(answer).toMatch(values.length === 2 ? /^HTTP\/1.1 400 / : /^HTTP\/1.1 40[01] /);
        expect(answer).not.toMatch(/internal_error|sqlite/i);
      }),
      { numRuns: 400 },
    );
    expect(asked).not.toHaveBeenCalled();
    asked.mockRestore();
  });
});

/** Calls with their required scope, read from docs/http-api.md and not from the code. */
const scoped = [
  ...readFileSync('docs/http-api.md', 'utf8').matchAll(/^\| `([A-Z]+) (\/[^`]*)` \| `([\w:]+)` \|/gm),
].map(([, method, path, scope]) => [`${method} ${path}`, scope as KeyScope] as const);

describe('scopes', () => {
  it('are documented for every call except those open to any key', () => {
    expect(scoped).toHaveLength(guarded.filter(({ access }) => access !== 'key').length);
  });

  it.each(scoped)('403: rejects %s with every scope except %s', async (call, scope) => {
    const [org] = await app.accounts.orgs.list();
    // Admins can see the usage of every org.
    const gives = (each: string) =>
      `${each}:read` === scope || (scope === 'usage' && each.startsWith('admin'));
    const { key } = await app.accounts.keys.create(serverActor, {
      orgId: org!.id,
      scopes: scopes.filter((each) => each !== scope && !gives(each)),
    });
    const [method, path] = call.split(' ') as [string, string];
    const { status, json } = await app.call(method, path.replaceAll(/\{[^}]*\}/g, 'x'), { key });
    expect([status, json.error.code]).toEqual([403, 'permission_denied']);
    expect(json.error.message).toContain(`"${scope}"`);
  });

  const reading = scoped.filter(([, scope]) => scope.endsWith(':read'));
  it.each(reading)('allow %s with %s, and with the whole scope', async (call, scope) => {
    const [org] = await app.accounts.orgs.list();
    const path = call.split(' ')[1]!.replaceAll(/\{[^}]*\}/g, 'x');
    for (const given of [scope, scope.replace(':read', '') as KeyScope]) {
      const made = await app.accounts.keys.create(serverActor, { orgId: org!.id, scopes: [given] });
      expect([200, 404, 422]).toContain((await app.call('HEAD', path, { key: made.key })).status);
    }
  });

  it('that only read are needed by GET routes alone', () => {
    const others = scoped.filter(([call]) => !call.startsWith('GET '));
    expect(others.filter(([, scope]) => scope.endsWith(':read'))).toEqual([]);
  });

  it('401: rejects a revoked key at once', async () => {
    const [org] = await app.accounts.orgs.list();
    const { key, apiKey } = await app.accounts.keys.create(serverActor, { orgId: org!.id });
    expect((await app.call('GET', '/v1/models', { key })).status).toBe(200);
    await app.accounts.keys.revoke(serverActor, apiKey.id);
    expect((await app.call('GET', '/v1/models', { key })).status).toBe(401);
  });
});

describe('a key that is revoked while a body arrives', () => {
  async function begin(to: RunningServer, path: string, type: string, body: string) {
    const [org] = await to.accounts.orgs.list();
    const { key, apiKey } = await to.accounts.keys.create(serverActor, { orgId: org!.id });
    const connection = await openRaw(to.url);
    connection.write(
      `POST ${path} HTTP/1.1\r\nHost: x\r\nConnection: close\r\nAuthorization: Bearer ${key}\r\nContent-Type: ${type}\r\nExpect: 100-continue\r\nContent-Length: ${body.length}\r\n\r\n`,
    );
    await connection.until('100 Continue');
    connection.write(body.slice(0, -10));
    return {
      connection,
      revoke: () => to.accounts.keys.revoke(serverActor, apiKey.id),
      rest: body.slice(-10),
    };
  }

  it('401: stores nothing of an upload', async () => {
    const { headers, body } = uploadForm(chatLines(1));
    const { connection, revoke, rest } = await begin(
      app,
      '/v1/files',
      headers['content-type']!,
      Buffer.from(body).toString(),
    );
    await expect.poll(() => readdir(app.folder, { recursive: true })).not.toEqual([]);
    await revoke();
    connection.write(rest);
    const answer = await connection.closed;
    expect(answer).toMatch(/HTTP\/1.1 401 [^]*"code":"invalid_api_key"/);
    expect((await app.call('GET', '/v1/files')).json.data).toEqual([]);
    const kept = await readdir(app.folder, { recursive: true, withFileTypes: true });
    expect(kept.filter((entry) => entry.isFile())).toEqual([]);
  });

  it('401: does not process a slow body', async () => {
    const clock = createManualClock();
    const slow = await startServer({ clock });
    const body = JSON.stringify({ model: 'vectors', input: 'x' });
    const { connection, revoke, rest } = await begin(slow, '/v1/embeddings', 'application/json', body);
    await clock.advance(2_000);
    await revoke();
    connection.write(rest);
    expect(await connection.closed).toMatch(/HTTP\/1.1 401 [^]*"code":"invalid_api_key"/);
    await slow.stop();
  });
});

describe('secrets', () => {
  it('C04: appear in no log line and no response', async () => {
    await app.stop();
    // A new server logs the first requests without a key one by one.
    app = await startServer();
    const secret = makeKey(systemRandom);
    const answers = [
      await app.call('GET', '/v1/models', { key: secret, headers: { 'x-client-request-id': 'mine' } }),
      await app.call('GET', `/v1/models/${secret}?key=${app.keys.a}`),
      await app.call('POST', '/v1/chat/completions', {
        json: { model: secret, messages: [{ role: 'user', content: 'x' }] },
      }),
    ];
    await expect
      .poll(() => app.logged.filter(({ fields }) => fields['client_request_id'] === 'mine'))
      .toHaveLength(1);
    const log = JSON.stringify(app.logged);
    for (const key of [app.keys.a, app.keys.b, app.keys.admin]) expect(log).not.toContain(key);
    expect(log).not.toContain(secret);
    expect(answers[0]!.text).not.toContain(secret);
  });
});

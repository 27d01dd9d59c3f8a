import { afterAll, beforeAll, expect, it } from 'vitest';
import { routes } from '../../src/server/routes/routes.ts';
import { type RunningServer, startServer } from './support/start-server.ts';

// Pages of other sites in the browser of a user, and foreign text on pages of this server.

let app: RunningServer;
beforeAll(async () => {
  app = await startServer();
});
afterAll(() => app.stop());

const origins = ['https://evil.example', 'null', 'http://localhost:3000', 'http://127.0.0.1.nip.example'];
const pathOf = (path: string) => path.replaceAll(/:\w+/g, 'x');

it('C18: no answer lets a page of another origin read it, or sets a cookie', async () => {
  for (const { method, path } of routes)
    for (const origin of origins) {
      const headers = { origin, 'sec-fetch-site': 'cross-site', 'sec-fetch-mode': 'cors' };
      const { headers: answered } = await app.call(method, pathOf(path), { key: null, headers });
      const names = [...answered.keys()].filter((name) => /^access-control-|^set-cookie$/.test(name));
      expect([method, path, names]).toEqual([method, path, []]);
    }
});

it('C18: no preflight request is granted', async () => {
  for (const path of new Set(routes.map((route) => pathOf(route.path)))) {
    const headers = {
      origin: origins[0]!,
      'access-control-request-method': 'POST',
      'access-control-request-headers': 'authorization, content-type',
    };
    const { status, headers: answered } = await app.call('OPTIONS', path, { key: null, headers });
    const granted = [...answered.keys()].filter((name) => name.startsWith('access-control-'));
    expect([path, status >= 400, granted]).toEqual([path, true, []]);
  }
});

it('C18: a key in a cookie, a form or the query is not accepted, so a page has nothing to ride on', async () => {
  const key = app.keys.a;
  const form = { 'content-type': 'application/x-www-form-urlencoded' };
  const cases: [string, string, Record<string, string>, string?][] = [
    ['GET', '/v1/models', { cookie: `authorization=Bearer ${key}; key=${key}; session=${key}` }],
    ['GET', `/v1/models?key=${key}&api_key=${key}&access_token=${key}`, {}],
    ['POST', '/v1/batches', form, `authorization=Bearer ${key}&key=${key}`],
    [
      'POST',
      '/v1/chat/completions',
      { 'content-type': 'text/plain', cookie: `key=${key}` },
      '{"model":"tiny"}',
    ],
  ];
  for (const [method, path, headers, body] of cases)
    expect((await app.call(method, path, { key: null, headers, ...(body && { body }) })).status).toBe(401);
});

const payloads = [
  '<script>alert(1)</script>',
  '"><img src=x onerror=alert(1)>',
  "'-alert(1)-'",
  '</title><svg/onload=alert(1)>',
  'javascript:alert(1)',
  '{{constructor.constructor("alert(1)")()}}',
  '<a href="javascript:alert(1)">x</a>',
  '\u2028<!--<script>',
];

it('C10: pages show foreign text as text, and allow no script but their own', async () => {
  for (const payload of payloads) {
    const text = encodeURIComponent(payload);
    for (const path of [`/docs/search?q=${text}`, `/docs/${text}`, `/docs/batches?x=${text}`, `/${text}`]) {
      const answer = await app.call('GET', path, { key: null });
      const type = answer.headers.get('content-type') ?? '';
      if (!type.startsWith('text/html')) {
        expect([path, type]).toEqual([path, expect.stringMatching(/^application\/json/)]);
        continue;
      }
      expect(answer.headers.get('x-content-type-options')).toBe('nosniff');
      if (/[<>"]/.test(payload)) expect(answer.text).not.toContain(payload);
      expect(answer.text.match(/<script\b/g) ?? []).toHaveLength(1);
      expect(answer.text).not.toMatch(/href="javascript:/i);
      const tags = answer.text.replaceAll(/"[^"]*"/g, '""').match(/<[^>]*>/g) ?? [];
      expect(tags.filter((tag) => /\son\w+=/i.test(tag))).toEqual([]);
      expect(answer.headers.get('content-security-policy')).toMatch(
        /default-src 'none'.*script-src 'sha256-/,
      );
    }
  }
});

it('C10: prompts, names and metadata come back as JSON, which no browser renders', async () => {
  const [payload] = payloads;
  const made = await app.call('POST', '/v1/chat/completions', {
    json: {
      model: 'tiny',
      store: true,
      metadata: { a: payload },
      messages: [{ role: 'user', content: payload }],
    },
  });
  const webhook = await app.call('POST', '/v1/webhooks', {
    json: { url: 'http://127.0.0.1:9/', name: payload },
  });
  const error = await app.call('POST', '/v1/chat/completions', { json: { model: payload, messages: [] } });
  expect([made.status, webhook.status, error.status]).toEqual([200, 201, expect.any(Number)]);
  for (const { headers } of [made, webhook, error])
    expect(headers.get('content-type')).toMatch(/^application\/json/);
});

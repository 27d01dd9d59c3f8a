import { createHash } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startServer } from './support/start-server.ts';
import type { RunningServer } from './support/start-server.ts';

let app: RunningServer;
const names = readdirSync('docs', { recursive: true })
  .map(String)
  .filter((path) => path.endsWith('.md'))
  .map((path) => path.slice(0, -'.md'.length));
const pathOf = (name: string) => `/docs/${name.replace(/README$/, '')}`;

beforeAll(async () => {
  app = await startServer();
});
afterAll(() => app.stop());

const get = (path: string, headers = {}) => app.call('GET', path, { key: null, headers });

describe('/docs', () => {
  it('shows every page without a key, with its heading, and allows one script by its hash', async () => {
    expect(names.length).toBeGreaterThan(20);
    for (const name of names) {
      const { status, headers, text } = await get(pathOf(name));
      expect([name, status, headers.get('content-type')]).toEqual([name, 200, 'text/html; charset=utf-8']);
      expect(text).not.toMatch(/<!--/);
      expect(text.match(/<script\b/g)).toEqual(['<script']);
      expect(text).toMatch(/<h1 id=/);
      const csp = headers.get('content-security-policy') ?? '';
      expect(csp).toContain("default-src 'none'");
      expect(csp).not.toMatch(/unsafe|https?:/);
      const [, script = ''] = /<script>([\s\S]*)<\/script>/.exec(text) ?? [];
      expect(csp).toContain(`script-src 'sha256-${createHash('sha256').update(script).digest('base64')}'`);
    }
  });

  it('has no broken links, to pages or headings', async () => {
    const known = new Map<string, string>();
    const pageAt = async (path: string) => {
      if (!known.has(path)) {
        const { status, text } = await get(path);
        known.set(path, status === 200 ? text : '');
      }
      return known.get(path)!;
    };
    const wrong: string[] = [];
    for (const name of names) {
      const links = [...(await pageAt(pathOf(name))).matchAll(/href="([^"]+)"/g)].map(([, href]) => href!);
      for (const href of links.filter((each) => !/^https?:/.test(each))) {
        const { pathname, hash } = new URL(href, `http://docs${pathOf(name)}`);
        const text = await pageAt(pathname);
        if (text === '' || (hash && !text.includes(`id="${hash.slice(1)}"`))) wrong.push(`${name}: ${href}`);
      }
    }
    expect(wrong).toEqual([]);
  });

  it('links every page from its front page', async () => {
    const reached = new Set<string>();
    const walk = async (path: string): Promise<void> => {
      if (reached.has(path)) return;
      reached.add(path);
      const main = (await get(path)).text.split('<main>')[1] ?? '';
      for (const [, href = ''] of main.matchAll(/href="([^"#]+)/g))
        if (!/^https?:/.test(href)) await walk(new URL(href, `http://docs${path}`).pathname);
    };
    await walk('/docs/');
    expect(names.map(pathOf).filter((path) => !reached.has(path))).toEqual([]);
  });

  it('finds the sections that contain the words of a search', async () => {
    const { status, text } = await get('/docs/search?q=idempotency+key');
    expect(status).toBe(200);
    expect(text).toMatch(/<main>[\s\S]*<mark>Idempotency<\/mark>/);
    expect(text).toContain('value="idempotency key"');
    for (const query of ['', '?q=', '?q=a&q=b', '?q=%3Cscript%3E'])
      expect((await get(`/docs/search${query}`)).text).not.toMatch(/value="<|<main>[\s\S]*<script>[^\n]/);
  });

  it('serves pages as Markdown, and headers to HEAD', async () => {
    const { text, headers } = await get('/docs/batches.md');
    expect(headers.get('content-type')).toBe('text/markdown; charset=utf-8');
    expect(text).toBe(readFileSync('docs/batches.md', 'utf8'));
    const head = await app.call('HEAD', '/docs/batches.md', { key: null });
    expect([head.status, head.headers.get('content-length'), head.text]).toEqual([
      200,
      String(Buffer.byteLength(text)),
      '',
    ]);
  });

  it('redirects to folders, and serves no other files', async () => {
    for (const [from, to, status] of [
      ['/', 'docs/', 302],
      ['/docs', 'docs/', 308],
      ['/docs/engines', 'engines/', 308],
    ]) {
      const moved = await fetch(`${app.url}${from}`, { redirect: 'manual' });
      expect([moved.status, moved.headers.get('location')]).toEqual([status, to]);
    }
    for (const path of ['/docs/nope', '/docs/..%2fpackage', '/docs/..%2f..%2fetc%2fpasswd', '/docs/batches/'])
      expect((await get(path)).status, path).toBe(404);
    expect((await app.call('POST', '/docs/batches', { key: null })).status).toBe(405);
  });
});

describe('/docs/api', () => {
  it('shows the OpenAPI document with a script served by this server', async () => {
    const { text, headers } = await get('/docs/api');
    expect(headers.get('content-security-policy')).toMatch(/connect-src 'self';/);
    expect(text).toContain('"url":"../openapi.json"');
    expect(text).not.toMatch(/https?:/);
  });

  it('serves the script compressed and uncompressed', async () => {
    const plain = await fetch(`${app.url}/docs/api/scalar.js`, {
      headers: { 'accept-encoding': 'identity' },
    });
    expect(plain.headers.get('content-encoding')).toBeNull();
    expect(plain.headers.get('x-content-type-options')).toBe('nosniff');
    const text = await plain.text();
    expect(text).toContain('createApiReference');
    const zipped = await fetch(`${app.url}/docs/api/scalar.js`);
    expect(zipped.headers.get('content-encoding')).toBe('gzip');
    expect(Number(zipped.headers.get('content-length'))).toBeLessThan(2_000_000);
    expect(await zipped.text()).toBe(text);
  });

  it.each([
    ['gzip;q=0', null],
    ['gzip; q=0.000, identity', null],
    ['br', null],
    ['gzip;q=0.5', 'gzip'],
    ['br, GZIP', 'gzip'],
  ])('compresses the script only for clients that accept it: %s', async (accepted, encoding) => {
    const headers = { 'accept-encoding': accepted };
    const head = await app.call('HEAD', '/docs/api/scalar.js', { key: null, headers });
    expect(head.headers.get('content-encoding')).toBe(encoding);
  });
});

describe('llms.txt', () => {
  it('lists every page once, with working links', async () => {
    for (const at of ['/llms.txt', '/docs/llms.txt']) {
      const { text, headers } = await get(at);
      expect(headers.get('content-type')).toBe('text/plain; charset=utf-8');
      const lines = [...text.matchAll(/^- \[[^\]]+\]\(([^)]+)\): .{20,}\.$/gm)].map(
        ([, href = '']) => new URL(href, `http://docs${at}`).pathname,
      );
      const pages = names.filter((name) => name !== 'README').map((name) => `/docs/${name}.md`);
      expect(lines.toSorted()).toEqual(pages.toSorted());
      expect(text).toMatch(/^# Offpeak\n\n> .+\n\n## /);
    }
  });
});

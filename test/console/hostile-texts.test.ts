import type { Browser } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it, test } from 'vitest';
import { createApi } from '../support/api.ts';
import { type RunningApp, startApp, testModel, upstreamEngine } from '../support/app.ts';
import { chatLine } from '../support/batch-lines.ts';
import { completion, type FakeUpstream, send, startFakeUpstream } from '../support/fake-upstream.ts';
import { type ConsolePage, openConsole, settled, startBrowser } from './support/browser.ts';
import { buildConsole } from './support/build-console.ts';
import { payloads } from './support/payloads.ts';

const browser = await startBrowser();
if ('reason' in browser) test.skip(`hostile texts in the console (skipped: ${browser.reason})`, () => {});
else hostileTexts(browser);

const modelId = payloads[1]!;
/** Name of an org, and of its open batch. */
const hostile = payloads[1]!;
const unanswered = 'Say nothing.';

function hostileTexts(chromium: Browser): void {
  let upstream: FakeUpstream;
  let app: RunningApp;
  let adminKey: string;
  let bigBatch: string;

  // Payloads in every text that users, models and servers choose.
  beforeAll(async () => {
    buildConsole();
    // Every third request fails with its prompt as the message, the others are answered with it; one is never answered.
    upstream = await startFakeUpstream((response, { text }) => {
      const prompt = promptOf(text);
      if (prompt === unanswered) return;
      if (payloads.indexOf(prompt) % 3 === 0)
        send(response, 400, { error: { message: prompt, code: prompt } });
      else send(response, 200, completion(prompt));
    });
    const engine = upstreamEngine(upstream.url);
    app = await startApp({
      models: [{ ...testModel(engine), id: modelId, aliases: ['default', ...payloads.slice(2, 4)] }],
      keys: [{ org: 'default', scopes: ['admin', 'inference', 'batches', 'files', 'usage'] }],
      overrides: { lookupHost: async () => [{ address: '93.184.216.34', family: 4 }] },
    });
    adminKey = app.keys[0]!;
    const admin = createApi(app.url, adminKey);

    const lines = payloads.map((text, n) => chatLine(n < 50 ? text : `row-${n}`, text));
    const metadata = { name: payloads[0], [payloads[1]!]: payloads[2], note: payloads };
    ({ id: bigBatch } = await app.api.createBatch({ requests: lines }, { metadata }));
    const hooks = new Set<number>();
    for (const name of payloads) {
      await app.api.createBatch({ requests: [chatLine(name, name)] }, { metadata: { name } });
      const org = await admin.send('/v1/admin/orgs', { json: { name } });
      expect(org.status, org.text).toBe(201);
      const { id } = JSON.parse(org.text) as { id: string };
      const { key } = await admin.post<{ key: string }>('/v1/admin/keys', { org_id: id, name });
      // Open batches are on the overview, with their org.
      if (name === hostile)
        await createApi(app.url, key).createBatch(
          { requests: [chatLine('a', unanswered)] },
          { metadata: { name } },
        );
      // Events of this type do not occur here, so that nothing is sent.
      const hook = {
        url: `https://hooks.example/${encodeURI(name)}?${new URLSearchParams({ name })}`,
        event_types: ['batch.at_risk'],
      };
      hooks.add((await app.api.send('/v1/webhooks', { json: hook })).status);
    }
    for (const name of payloads.slice(0, 20)) {
      const form = new FormData();
      form.set('purpose', 'batch');
      form.set('file', new Blob([`${JSON.stringify(chatLine('a', name))}\n`]), name);
      const { status, text } = await app.api.send('/v1/files', { body: form });
      if (status === 201) await app.api.createBatch((JSON.parse(text) as { id: string }).id);
      await app.api.send('/v1/chat/completions', {
        json: { model: name, messages: [{ role: 'user', content: name }] },
      });
    }
    expect([...hooks]).toContain(201);
    const { request_counts: counts } = await app.api.finished(bigBatch);
    expect(counts).toEqual({ total: 100, completed: 66, failed: 34 });
  }, 120_000);
  afterAll(async () => {
    await chromium.close();
    await app.stop();
    await upstream.close();
  });

  it('are texts on every screen of the navigation', async () => {
    const watched = await openWatched(chromium, app.url, adminKey);
    const links = watched.page.getByRole('navigation', { name: 'Screens' }).getByRole('link');
    const paths = await links.evaluateAll((all) =>
      all.map((link) => new URL((link as HTMLAnchorElement).href).pathname),
    );
    expect(paths.length).toBeGreaterThan(2);
    for (const path of new Set(paths)) {
      if (!path.startsWith('/console')) continue;
      await watched.page.goto(app.url + path);
      if (path === '/console/') await expectOpenBatch(watched);
      await expectHarmless(watched, path);
    }
    await watched.close();
  });

  describe('of a batch', () => {
    it.each(['', '/lines'])('are texts at /batches/<id>%s', async (path) => {
      const watched = await openWatched(chromium, app.url, app.key, `/batches/${bigBatch}${path}`);
      await watched.page.getByText(payloads[0]!, { exact: true }).first().waitFor();
      await expectHarmless(watched, path);
      await watched.close();
    });
  });

  it('are texts in the palette', async () => {
    const watched = await openWatched(chromium, app.url, adminKey);
    await watched.page.getByRole('heading', { name: 'Overview' }).waitFor();
    for (const text of ['<script>', 'onerror', 'javascript:']) {
      await watched.page.keyboard.press('Control+k');
      await watched.page.getByRole('combobox').fill(text);
      await watched.page.getByRole('option').filter({ hasText: text }).first().waitFor();
      await expectHarmless(watched, text);
      await watched.page.keyboard.press('Escape');
    }
    await watched.close();
  });

  it('are texts in the playground: answers, errors, prompts and code', async () => {
    const watched = await openWatched(chromium, app.url, app.key, '/playground');
    const { page } = watched;
    await page.getByLabel('Stream the answer').uncheck();
    for (const [n, text] of payloads.entries()) {
      await page.getByLabel('Message 1', { exact: true }).fill(text);
      await page.keyboard.press('Control+Enter');
      const shown = n % 3 === 0 ? page.getByRole('alert') : page.getByTestId('answer');
      await shown.filter({ hasText: text.trim() }).waitFor();
    }
    await expectHarmless(watched, 'the playground');
    await watched.close();
  });
}

/** Expects the name of a batch and of its org on the overview. */
async function expectOpenBatch({ page }: Watched): Promise<void> {
  const row = page.getByRole('table', { name: 'Open batches' }).getByRole('row');
  await row.filter({ hasText: hostile }).first().waitFor();
  expect(await row.getByText(hostile, { exact: true }).count()).toBe(2);
}

interface Watched extends ConsolePage {
  /** Dialogs, requests to other hosts, and reports of the content policy. */
  attacks: string[];
}

/** Opens a page that notes what no text may do. */
async function openWatched(browserOf: Browser, url: string, key: string, path = '/'): Promise<Watched> {
  const opened = await openConsole(browserOf, url, { key, path });
  const attacks: string[] = [];
  opened.page.on('dialog', (dialog) => {
    attacks.push(`dialog: ${dialog.message()}`);
    void dialog.dismiss();
  });
  opened.page.on('request', (request) => {
    if (!request.url().startsWith(url)) attacks.push(`request: ${request.url()}`);
  });
  await opened.page.addInitScript(() => {
    const page = globalThis as unknown as { reports: string[] };
    page.reports = [];
    document.addEventListener('securitypolicyviolation', ({ violatedDirective }) =>
      page.reports.push(violatedDirective),
    );
  });
  return { ...opened, attacks };
}

/** Expects that no text ran as a script, became an element, was loaded, or widened the page. */
async function expectHarmless({ page, faults, attacks }: Watched, where: string): Promise<void> {
  await settled(page);
  const found = await page.evaluate(() => {
    const { attacked, reports } = globalThis as { attacked?: unknown; reports?: string[] };
    const elements =
      'script, iframe, object, embed, base, img, video, math, style, link, form[action], [onerror], [onload], a[href^="javascript:"]';
    return {
      attacked: attacked ?? null,
      reports: reports ?? [],
      elements: Array.from(document.body.querySelectorAll(elements), (element) =>
        element.outerHTML.slice(0, 200),
      ),
      isWide: document.documentElement.scrollWidth > innerWidth,
    };
  });
  expect({ where, ...found }).toEqual({ where, attacked: null, reports: [], elements: [], isWide: false });
  expect(attacks).toEqual([]);
  // A request that failed on purpose is in the log of the browser.
  expect(faults.filter((text) => !text.startsWith('Failed to load resource'))).toEqual([]);
}

function promptOf(body: string): string {
  const { messages } = JSON.parse(body) as { messages: { content: string }[] };
  return messages.at(-1)!.content;
}

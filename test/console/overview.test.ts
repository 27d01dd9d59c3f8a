import type { Browser } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it, test } from 'vitest';
import { type RunningApp, startApp, testModel, upstreamEngine } from '../support/app.ts';
import { chatLines } from '../support/batch-lines.ts';
import { type FakeUpstream, startFakeUpstream } from '../support/fake-upstream.ts';
import { expectAccessible, openConsole, startBrowser } from './support/browser.ts';
import { buildConsole } from './support/build-console.ts';

const browser = await startBrowser();
if ('reason' in browser) test.skip(`the overview (skipped: ${browser.reason})`, () => {});
else overviewTests(browser);

function overviewTests(chromium: Browser): void {
  let upstream: FakeUpstream;
  let app: RunningApp;
  let adminKey: string;

  beforeAll(async () => {
    buildConsole();
    // Answers nothing: lines stay in flight.
    upstream = await startFakeUpstream(() => {});
    app = await startApp({
      models: [
        testModel(upstreamEngine(upstream.url, 2)),
        { ...testModel(upstreamEngine('http://127.0.0.1:9/v1', 4)), id: 'away', aliases: [] },
      ],
      keys: [{ org: 'second', scopes: ['batches'] }],
    });
    adminKey = app.app.firstKeys!.adminKey!;
    await app.api.createBatch({ requests: chatLines(9) }, { metadata: { name: '<b>running</b>' } });
    const away = chatLines(5).map((line) => ({ ...line, body: { ...line.body, model: 'away' } }));
    await app.api.createBatch({ requests: away }, { metadata: { name: 'stuck' } });
  });
  afterAll(async () => {
    await chromium.close();
    await app.stop();
    await upstream.close();
  });

  describe('the overview of an admin', () => {
    it('shows what waits and why, the batches of all orgs, models and servers', async () => {
      const { page, faults, close } = await openConsole(chromium, app.url, { key: adminKey });
      const row = (table: string, text: string) =>
        page.getByRole('table', { name: table }).getByRole('row').filter({ hasText: text });
      await row('What needs attention', 'stuck').getByText('Waiting').waitFor();
      const down = row('What needs attention', '127.0.0.1:9/v1');
      await down.getByText('Server down').waitFor();
      expect(await down.getByRole('link', { name: 'Show servers' }).getAttribute('href')).toBe(
        '/console/operations',
      );
      await row('Open batches', '<b>running</b>').getByText('In progress').waitFor();
      expect(await row('Open batches', '<b>running</b>').getByText('default').count()).toBe(1);
      await row('Work left by model', 'tiny').getByText('2 / 2').waitFor();
      await row('Engines', 'away').getByText('Down').waitFor();
      await expectAccessible(page);
      expect(faults).toEqual([]);
      await close();
    });

    it.each([
      [390, 'dark'],
      [2560, 'light'],
    ] as const)('is accessible, %d pixels wide and %s', async (width, colorScheme) => {
      const { page, close } = await openConsole(chromium, app.url, {
        key: adminKey,
        viewport: { width, height: 900 },
        colorScheme,
      });
      await page.getByRole('table', { name: 'Engines' }).waitFor();
      await expectAccessible(page);
      await close();
    });
  });

  it('shows others the batches of their org alone', async () => {
    const { page, faults, close } = await openConsole(chromium, app.url, { key: app.keys[0]! });
    await page.getByText('No batch is open.').waitFor();
    expect(await page.getByRole('heading', { level: 2 }).allTextContents()).toEqual(['Needs attention']);
    expect(faults).toEqual([]);
    await close();
  });
}

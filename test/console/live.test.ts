import type { Browser, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it, test } from 'vitest';
import { type RunningApp, startApp, testModel, upstreamEngine } from '../support/app.ts';
import { chatLines } from '../support/batch-lines.ts';
import { complete, type FakeUpstream, startFakeUpstream } from '../support/fake-upstream.ts';
import { expectAccessible, openConsole, settled, startBrowser } from './support/browser.ts';
import { buildConsole } from './support/build-console.ts';
import { startPrefixProxy } from './support/prefix-proxy.ts';

const browser = await startBrowser();
if ('reason' in browser) test.skip(`live screens (skipped: ${browser.reason})`, () => {});
else liveTests(browser);

function liveTests(chromium: Browser): void {
  let upstream: FakeUpstream;
  let app: RunningApp;
  let adminKey: string;

  const create = (name: string) => app.api.createBatch({ requests: chatLines(3) }, { metadata: { name } });
  const row = (page: Page, table: string, text: string) =>
    page.getByRole('table', { name: table }).getByRole('row').filter({ hasText: text });

  beforeAll(async () => {
    buildConsole();
    // Answers nothing at first: lines stay in flight.
    upstream = await startFakeUpstream(() => {});
    app = await startApp({
      models: [testModel(upstreamEngine(upstream.url, 64))],
      batch: { endpoints: ['/v1/chat/completions', '/v1/messages'] },
    });
    adminKey = app.app.firstKeys!.adminKey!;
  });
  afterAll(async () => {
    await chromium.close();
    await app.stop();
    await upstream.close();
  });

  // The list is read again after a minute, which is longer than these tests wait.
  it('shows new and ended batches on the overview as they come and go', async () => {
    const { page, faults, close } = await openConsole(chromium, app.url, { key: adminKey });
    await page.getByText('No batch is open.').waitFor();
    await settled(page);
    const { id } = await create('comes and goes');
    await row(page, 'Open batches', 'comes and goes').waitFor();
    // Only the events show the end: the list is never answered again.
    await page.route(/\/batches\?/, () => {});
    await app.api.send(`/v1/batches/${id}/cancel`, { method: 'POST' });
    await page.getByText('No batch is open.').waitFor();
    expect(faults).toEqual([]);
    await close();
  });

  it('drops a deleted batch from the list, and says so where it is open', async () => {
    upstream.answer = complete('ok');
    const params = { model: 'tiny', max_tokens: 9, messages: [{ role: 'user', content: 'hi' }] };
    const { text } = await app.api.send('/v1/messages/batches', {
      json: { requests: [{ custom_id: 'a', params }] },
    });
    const { id } = JSON.parse(text) as { id: string };
    await app.api.finished(id);
    const list = await openConsole(chromium, app.url, { key: app.key, path: '/batches' });
    const one = await openConsole(chromium, app.url, { key: app.key, path: `/batches/${id}` });
    await row(list.page, 'Batches, newest first', id).getByText('Completed').waitFor();
    await one.page.getByRole('heading', { name: 'Cost' }).waitFor();
    const { status } = await app.api.send(`/v1/messages/batches/${id}`, { method: 'DELETE' });
    expect(status).toBe(200);
    await row(list.page, 'Batches, newest first', id).waitFor({ state: 'detached' });
    await one.page.getByText('The batch could not be loaded.').waitFor();
    await Promise.all([list.close(), one.close()]);
  });

  it('holds a paused screen still until it is resumed or left', async () => {
    upstream.answer = complete('ok');
    const { page, faults, close } = await openConsole(chromium, app.url, { key: app.key, path: '/batches' });
    const listed = (name: string) => row(page, 'Batches, newest first', name);
    await settled(page);
    await page.getByRole('button', { name: 'Pause updates' }).click();
    await page.getByRole('status').getByText('Updates paused').waitFor();
    await expectAccessible(page);
    const asked: string[] = [];
    page.on('request', (request) => asked.push(new URL(request.url()).pathname));
    const { id } = await create('while paused');
    await app.api.finished(id);
    // Another page shows the batch: the paused one would, too.
    const other = await openConsole(chromium, app.url, { key: app.key, path: '/batches' });
    await row(other.page, 'Batches, newest first', 'while paused').getByText('Completed').waitFor();
    expect(await listed('while paused').count()).toBe(0);
    expect(asked).toEqual([]);
    await page.keyboard.press('p');
    await listed('while paused').getByText('Completed').waitFor();
    await page.keyboard.press('p');
    await page.getByRole('button', { name: 'Resume updates' }).waitFor();
    await page.getByRole('link', { name: 'Overview' }).click();
    await page.getByRole('button', { name: 'Pause updates' }).waitFor();
    expect(faults).toEqual([]);
    await Promise.all([close(), other.close()]);
  });

  describe('behind a proxy that serves it below a path', () => {
    it('finds its files, its API, its session and the documentation', async () => {
      const proxy = await startPrefixProxy(app.url, '/tools/offpeak');
      upstream.answer = complete('ok');
      const batch = await create('below a path');
      await app.api.finished(batch.id);
      const { page, faults, close } = await openConsole(chromium, proxy.url, {
        key: app.key,
        path: `/batches/${batch.id}`,
      });
      await page.getByRole('heading', { name: 'below a path' }).waitFor();
      await page.getByText(`${proxy.url}/v1/batches/${batch.id}`).first().waitFor();
      await page.reload();
      await page.getByRole('heading', { name: 'below a path' }).waitFor();
      await page.getByRole('navigation', { name: 'Screens' }).getByRole('link', { name: 'Batches' }).click();
      await row(page, 'Batches, newest first', 'below a path').waitFor();
      expect(page.url()).toBe(`${proxy.url}/console/batches`);
      await page.goto(`${proxy.url}/console/batches/${batch.id}/lines`);
      await page.getByRole('table', { name: 'Lines' }).getByText('Completed').first().waitFor();
      const cookies = await page.context().cookies();
      expect(cookies.map(({ path }) => path)).toEqual(['/tools/offpeak/console']);
      await page.getByRole('link', { name: 'Documentation' }).click();
      await page.waitForURL(`${proxy.url}/docs/`);
      await page.getByRole('link', { name: 'Console', exact: true }).click();
      await page.getByRole('button', { name: 'Sign out' }).click();
      await page.getByLabel('API key').waitFor();
      expect(await page.context().cookies()).toEqual([]);
      expect([proxy.strays, faults]).toEqual([[], []]);
      await close();
      await proxy.stop();
    });
  });

  it('shows the points of a chart as a table', async () => {
    upstream.answer = complete('ok');
    await app.api.finished((await create('with a chart')).id);
    const { page, close } = await openConsole(chromium, app.url, { key: adminKey, path: '/usage' });
    await page.getByText('Show as table').click();
    const days = page.getByRole('table', { name: /by day and/ });
    await days.getByRole('row').nth(1).waitFor();
    await expectAccessible(page);
    await close();
  });
}

import type { Browser, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it, test } from 'vitest';
import { type RunningApp, startApp, testModel, upstreamEngine } from '../support/app.ts';
import { chatLines } from '../support/batch-lines.ts';
import { type FakeUpstream, startFakeUpstream } from '../support/fake-upstream.ts';
import { expectAccessible, openConsole, startBrowser } from './support/browser.ts';
import { buildConsole } from './support/build-console.ts';

const browser = await startBrowser();
if ('reason' in browser) test.skip(`the batches (skipped: ${browser.reason})`, () => {});
else batchTests(browser);

const payload = '<img src=x onerror="globalThis.ran=1"><script>globalThis.ran=1</script>';

function batchTests(chromium: Browser): void {
  let upstream: FakeUpstream;
  let app: RunningApp;
  let adminKey: string;
  let viewer: string;

  const create = (name: string, contents: string[], model = 'tiny') =>
    app.api.createBatch(
      {
        requests: chatLines(contents.length).map((line, n) => ({
          ...line,
          body: { ...line.body, model, messages: [{ role: 'user', content: contents[n] }] },
        })),
      },
      { metadata: { name } },
    );

  beforeAll(async () => {
    buildConsole();
    // Answers nothing: lines stay in flight.
    upstream = await startFakeUpstream(() => {});
    app = await startApp({
      models: [testModel(), { ...testModel(upstreamEngine(upstream.url, 2)), id: 'stuck', aliases: [] }],
      keys: [{ org: 'viewers', scopes: ['batches:read'] }],
    });
    adminKey = app.app.firstKeys!.adminKey!;
    viewer = app.keys[0]!;
  });
  afterAll(async () => {
    await chromium.close();
    await app.stop();
    await upstream.close();
  });

  const row = (page: Page, text: string) =>
    page.getByRole('table', { name: 'Batches, newest first' }).getByRole('row').filter({ hasText: text });
  const actions = (page: Page, name: string) => page.getByRole('group', { name });

  describe('the list of batches', () => {
    it('shows new batches and their progress without a reload, and texts as texts', async () => {
      const { page, faults, close } = await openConsole(chromium, app.url, {
        key: app.key,
        path: '/batches',
      });
      await page.getByText('There are no batches yet.').waitFor();
      await create('first', ['a', 'b']);
      await row(page, 'first').getByText('Completed').waitFor();
      await create(payload, ['a']);
      await row(page, 'onerror').getByText('Completed').waitFor();
      expect(await page.evaluate(() => (globalThis as { ran?: number }).ran)).toBeUndefined();
      await expectAccessible(page);
      expect(faults).toEqual([]);
      await close();
    });

    it('keeps search and filters in the address, and follows the changes of what matches', async () => {
      const stuck = await create('needle one', ['a', 'b', 'c'], 'stuck');
      await create('needle two', ['a']);
      const { page, close } = await openConsole(chromium, app.url, { key: app.key, path: '/batches' });
      await page.getByRole('searchbox').fill('NEEDLE');
      await page.getByRole('button', { name: 'In progress' }).click();
      await row(page, 'needle one').waitFor();
      await page.waitForURL(/(?=.*[?&]q=NEEDLE)(?=.*[?&]status=in_progress)/);
      for (const other of ['first', 'needle two']) await row(page, other).waitFor({ state: 'detached' });
      await page.reload();
      await row(page, 'needle one').waitFor();
      await app.api.send(`/v1/batches/${stuck.id}/cancel`, { method: 'POST' });
      await row(page, 'needle one').waitFor({ state: 'detached' });
      await close();
    });

    it('shows how many batches are in each state, except where another filter matches a part of them', async () => {
      const { page, close } = await openConsole(chromium, app.url, { key: app.key, path: '/batches' });
      const state = (name: string) =>
        page.getByRole('group', { name: 'State' }).getByRole('button', { name });
      const { counts } = await app.api.get<{ counts: Record<string, number> }>('/v1/batches/counts');
      expect(counts['completed']).toBeGreaterThan(0);
      await state(`Completed ${counts['completed']}`).waitFor();
      await create('one more', ['a']);
      await state(`Completed ${counts['completed']! + 1}`).waitFor();
      await state('Completed').click();
      await row(page, 'one more').waitFor();
      expect(await state('Completed').getAttribute('aria-pressed')).toBe('true');
      await page.getByRole('searchbox').fill('one more');
      await page.waitForURL(/q=one/);
      await page.getByRole('button', { name: 'Completed', exact: true }).waitFor();
      await close();
    });

    it('filters by what a batch waits for, with the number of batches behind each reason', async () => {
      const { id } = await create('held', ['a'], 'stuck');
      await app.api.send(`/v1/batches/${id}/pause`, { method: 'POST' });
      const { page, faults, close } = await openConsole(chromium, app.url, {
        key: adminKey,
        path: '/batches?q=held',
        viewport: { width: 400, height: 800 },
      });
      await row(page, 'held').getByText('Paused').waitFor();
      const button = page.getByRole('button', { name: 'Filters' });
      await button.focus();
      await page.keyboard.press('Enter');
      const panel = page.getByRole('group', { name: 'Filters' });
      await panel.getByRole('radio', { name: 'Any reason 1' }).waitFor();
      await panel.getByRole('radio', { name: 'Budget 0' }).waitFor();
      await panel.getByRole('checkbox', { name: 'At risk 0' }).waitFor();
      await expectAccessible(page);
      await panel.getByRole('radio', { name: 'Paused 1' }).focus();
      await page.keyboard.press('Space');
      await panel.getByRole('combobox', { name: 'Org' }).fill('default');
      await page.keyboard.press('Escape');
      await page.waitForURL(/(?=.*waiting=paused)(?=.*org=default)/);
      await row(page, 'held').waitFor();
      expect(await button.evaluate((element) => element === document.activeElement)).toBe(true);
      await expectAccessible(page);
      await page.getByRole('button', { name: 'Remove the filter Waiting: Paused' }).click();
      await page.waitForURL((url) => !url.searchParams.has('waiting') && url.searchParams.has('org'));
      await page.getByRole('button', { name: 'Clear' }).click();
      await page.waitForURL((url) => url.search === '');
      expect(faults).toEqual([]);
      await close();
    });

    it('pauses selected batches, and resumes by filter, with a preview and a result', async () => {
      for (const name of ['bulk one', 'bulk two', 'bulk three']) await create(name, ['a', 'b'], 'stuck');
      const { page, faults, close } = await openConsole(chromium, app.url, {
        key: app.key,
        path: '/batches?q=bulk',
      });
      await row(page, 'bulk three').waitFor();
      // An action ends the pause, so that its effect is seen.
      await page.getByRole('button', { name: 'Pause updates' }).click();
      await row(page, 'bulk three').getByRole('checkbox').check();
      await row(page, 'bulk one').getByRole('checkbox', { name: 'Select bulk one' }).check();
      await actions(page, 'Selected batches').getByRole('button', { name: 'Pause' }).click();
      await page.getByText('2 batches chosen, 2 of them can be paused').waitFor();
      await expectAccessible(page);
      await page.getByRole('button', { name: 'Pause 2 batches' }).click();
      await page.getByText('2 of 2 paused, 0 failed, 0 skipped.').waitFor();
      await page.getByRole('button', { name: 'Close' }).click();
      await row(page, 'bulk three').getByText('Paused').waitFor();
      expect(await row(page, 'bulk two').getByText('Paused').count()).toBe(0);
      await page.getByRole('button', { name: 'Actions' }).click();
      await actions(page, 'All batches that match').getByRole('button', { name: 'Resume' }).click();
      await page.getByRole('button', { name: 'Resume 2 batches' }).click();
      await page.getByText('2 of').waitFor();
      await page.getByRole('button', { name: 'Close' }).click();
      await row(page, 'bulk three').getByText('Paused').waitFor({ state: 'detached' });
      expect(await page.evaluate(() => document.activeElement?.textContent)).toContain('Actions');
      expect(faults).toEqual([]);
      await close();
    });

    it('shows a long name in two lines of its row', async () => {
      const name = 'Product descriptions, winter collection';
      await create(name, ['a']);
      const { page, close } = await openConsole(chromium, app.url, { key: adminKey, path: '/batches' });
      const cell = row(page, name).getByText(name);
      const box = (await row(page, name).boundingBox())!;
      const lines = await cell.evaluate((text) => Array.from(text.getClientRects(), ({ bottom }) => bottom));
      expect(lines).toHaveLength(2);
      expect(lines[1]).toBeLessThan(box.y + box.height);
      expect(box.height).toBe(36);
      await close();
    });

    it('shows an admin the batches of all orgs, and a key that only reads no actions', async () => {
      const { page, close } = await openConsole(chromium, app.url, {
        key: adminKey,
        path: '/batches?q=bulk',
        viewport: { width: 2560, height: 900 },
      });
      await row(page, 'bulk one').getByText('default').waitFor();
      await expectAccessible(page);
      await close();
      const other = await openConsole(chromium, app.url, { key: viewer, path: '/batches' });
      await other.page.getByText('There are no batches yet.').waitFor();
      expect(await other.page.getByRole('button', { name: 'Actions' }).count()).toBe(0);
      expect(await other.page.getByRole('checkbox', { name: /Select/ }).count()).toBe(0);
      await other.close();
    });
  });

  describe('a batch', () => {
    it('opens from the list, with its errors by code, of which one kind is retried', async () => {
      const { id } = await create('with errors', ['hi', '[[fail 400]]', '[[fail 400]]', '[[fail 404]]']);
      await app.api.finished(id);
      const { page, faults, close } = await openConsole(chromium, app.url, {
        key: app.key,
        path: '/batches',
        viewport: { width: 390, height: 800 },
        colorScheme: 'dark',
      });
      await row(page, 'with errors').getByText('with errors').click();
      await page.getByRole('heading', { name: 'with errors' }).waitFor();
      await page.getByRole('table', { name: 'States and waits' }).getByText('Completed').waitFor();
      await page.locator('.uplot').waitFor();
      await expectAccessible(page);
      await page.getByRole('button', { name: 'Retry these: request_refused' }).click();
      await page.getByText('Retry of').waitFor();
      expect(page.url()).not.toContain(id);
      await page.getByText('of 2', { exact: false }).first().waitFor();
      expect(faults).toEqual([]);
      await close();
    });

    it('says why it waits, and is paused and cancelled', async () => {
      const { id } = await create('steered', ['a', 'b', 'c'], 'stuck');
      const { page, close } = await openConsole(chromium, app.url, { key: app.key, path: `/batches/${id}` });
      const act = async (item: string, confirm: string) => {
        await actions(page, 'Actions').getByRole('button', { name: item }).click();
        await page.getByRole('button', { name: confirm }).click();
        await page.getByRole('heading', { name: 'Done' }).waitFor();
        await page.getByRole('button', { name: 'Close' }).click();
      };
      await act('Pause', 'Pause 1 batch');
      await page.getByText('The batch is paused until it is resumed.').waitFor();
      await act('Cancel', 'Cancel 1 batch');
      await page.getByText('Cancelled').first().waitFor();
      await page.getByRole('button', { name: 'Python' }).click();
      await page.getByText(`client.batches.retrieve("${id}")`).waitFor();
      await close();
    });

    it('says that it is gone', async () => {
      const path = `/batches/batch_${'0'.repeat(32)}`;
      const { page, close } = await openConsole(chromium, app.url, { key: app.key, path });
      await page.getByText('The batch could not be loaded.').waitFor();
      await close();
    });
  });
}

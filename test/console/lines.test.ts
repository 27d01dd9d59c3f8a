import type { Browser } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it, test } from 'vitest';
import { chatLine } from '../server/support/jsonl.ts';
import { type RunningServer, startServer } from '../server/support/start-server.ts';
import { until } from '../support/until.ts';
import { expectAccessible, openConsole, startBrowser } from './support/browser.ts';
import { buildConsole } from './support/build-console.ts';

const browser = await startBrowser();
if ('reason' in browser) test.skip(`the lines of a batch (skipped: ${browser.reason})`, () => {});
else lineTests(browser);

const total = 90;
/** Contents that a page would run if it took them for HTML. */
const hostile = '<img src=x onerror="globalThis.hacked=1"><script>globalThis.hacked=1</script>';

function lineTests(chromium: Browser): void {
  let app: RunningServer;
  let batch: string;

  async function ended(contents: readonly string[]): Promise<string> {
    const requests = contents.map((content, n) => chatLine(n, 'tiny', content));
    const json = { endpoint: '/v1/chat/completions', completion_window: '24h', requests };
    const { id } = (await app.call('POST', '/v1/batches', { json })).json;
    await until(
      'the batch ends',
      async () => (await app.call('GET', `/v1/batches/${id}`)).json.status === 'completed',
    );
    return id;
  }
  const open = (path = '', more = {}) =>
    openConsole(chromium, app.url, { key: app.keys.a, path: `/batches/${batch}/lines${path}`, ...more });

  beforeAll(async () => {
    buildConsole();
    app = await startServer();
    const special = [hostile, `${Math.random()} [[fail 400 1]] flaky`, 'a needle in the hay'];
    const plain = Array.from({ length: total - special.length }, (_, n) => `plain ${n} [[tokens 1]]`);
    batch = await ended([...special, ...plain]);
  });
  afterAll(async () => {
    await chromium.close();
    await app.stop();
  });

  it('of another org are shown to an operator without texts, with a sentence that says so', async () => {
    const { json } = await app.call('POST', '/v1/admin/keys', {
      key: app.keys.admin,
      json: { org_id: 'second', scopes: ['admin:read', 'batches'] },
    });
    const { page, faults, close } = await open('', { key: json.key });
    await page.getByText('This batch belongs to the org default.').waitFor();
    await page.getByRole('columnheader', { name: 'Server' }).waitFor();
    const rows = page.getByRole('table', { name: 'Lines' }).locator('tbody tr[tabindex]');
    await rows.first().getByText('Completed').waitFor();
    expect(await page.getByRole('search').count()).toBe(0);
    expect(await page.getByRole('button', { name: 'Answers as table' }).count()).toBe(0);
    await rows.first().click();
    const line = page.getByRole('complementary', { name: 'Line 1' });
    await line.getByText('Server').waitFor();
    expect(await line.getByText('Show JSON').count()).toBe(0);
    expect(await page.getByText('plain 0').count()).toBe(0);
    await page.getByRole('button', { name: /^Failed/ }).click();
    await page.getByText('1 line found').waitFor();
    await expectAccessible(page);
    await page.getByRole('link', { name: 'Summary' }).click();
    await page.getByRole('link', { name: 'Lines' }).waitFor();
    expect(faults).toEqual([]);
    await close();
  });

  describe('the lines of a batch', () => {
    it('scroll to the last one, and open beside the list', async () => {
      const { page, faults, close } = await open();
      await page.getByText('plain 0 ').first().waitFor();
      const rows = page.getByRole('table', { name: 'Lines' }).locator('tbody tr[tabindex]');
      expect(await rows.count()).toBeLessThan(100);
      await rows.first().focus();
      await page.keyboard.press('End');
      await page
        .getByText(`plain ${total - 4} `)
        .first()
        .waitFor();
      await page.keyboard.press('Enter');
      await page.getByRole('heading', { name: 'Line 90' }).waitFor();
      await page
        .getByRole('region', { name: 'Request' })
        .getByText(`plain ${total - 4}`)
        .waitFor();
      await page.getByRole('button', { name: 'Previous' }).click();
      await page.getByRole('heading', { name: 'Line 89' }).waitFor();
      expect(page.url()).toContain('line=89');
      expect(faults).toEqual([]);
      await close();
    });

    it('are found by text, state and code, and the address keeps that', async () => {
      const { page, close } = await open();
      await page.getByLabel('Search in custom_id').fill('NEEDLE');
      await page.keyboard.press('Enter');
      await page.getByText('1 line found').waitFor();
      expect(page.url()).toContain('q=NEEDLE');
      await page.getByRole('button', { name: 'Clear' }).click();
      await page.getByRole('button', { name: /^Failed/ }).click();
      await page.getByText('1 line found').waitFor();
      await page.getByLabel('Error code').selectOption('request_refused');
      await page.reload();
      await page.getByText('1 line found').waitFor();
      await page.getByRole('button', { name: '20 random lines' }).click();
      await page.getByText('1 random line, seed').waitFor();
      await close();
    });

    it('show texts as texts', async () => {
      const { page, faults, close } = await open('?line=1');
      await page.getByRole('region', { name: 'Request' }).getByText(hostile).waitFor();
      expect(await page.evaluate(() => 'hacked' in globalThis)).toBe(false);
      expect(faults).toEqual([]);
      await close();
    });

    it('become a table', async () => {
      const { page, close } = await open('?view=table');
      await page.getByText('89 answers').waitFor();
      const saved = page.waitForEvent('download');
      await page.getByRole('button', { name: 'Save as CSV' }).click();
      expect((await saved).suggestedFilename()).toBe(`${batch}.csv`);
      await close();
    });

    it('of a retry show what it changed', async () => {
      const { id } = (await app.call('POST', `/v1/batches/${batch}/retry`)).json;
      const ends = async () => (await app.call('GET', `/v1/batches/${id}`)).json.status === 'completed';
      await until('the retry ends', ends);
      const { page, close } = await openConsole(chromium, app.url, {
        key: app.keys.a,
        path: `/batches/${id}/lines?line=1`,
      });
      await page.getByText('What the retry changed').waitFor();
      await page.getByText('request_refused → completed').waitFor();
      await close();
    });

    it.each([
      [390, 'dark'],
      [1280, 'light'],
      [2560, 'dark'],
    ] as const)('are accessible, %d pixels wide and %s', async (width, colorScheme) => {
      const { page, close } = await open('', { viewport: { width, height: 900 }, colorScheme });
      await page.getByText('plain 0 ').first().waitFor();
      await expectAccessible(page);
      await page.locator('tbody tr[tabindex]').nth(1).click();
      await page.getByText('Failed attempts').waitFor();
      await expectAccessible(page);
      await close();
    });
  });
}

import type { Browser } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it, test } from 'vitest';
import { type RunningApp, startApp } from '../support/app.ts';
import { chatLines } from '../support/batch-lines.ts';
import { expectAccessible, openConsole, startBrowser } from './support/browser.ts';
import { buildConsole } from './support/build-console.ts';

const browser = await startBrowser();
if ('reason' in browser) test.skip(`the keyboard of the console (skipped: ${browser.reason})`, () => {});
else keyboardTests(browser);

function keyboardTests(chromium: Browser): void {
  let app: RunningApp;
  let batchId: string;
  beforeAll(async () => {
    buildConsole();
    app = await startApp({ keys: [{ org: 'research', scopes: ['batches'] }] });
    const name = '<img src=x onerror=alert(1)> invoices';
    ({ id: batchId } = await app.api.createBatch({ requests: chatLines(1) }, { metadata: { name } }));
  });
  afterAll(async () => {
    await chromium.close();
    await app.stop();
  });

  const open = async (key = app.key) => {
    const opened = await openConsole(chromium, app.url, { key });
    await opened.page.getByRole('heading', { name: 'Overview' }).waitFor();
    return opened;
  };

  describe('the command palette', () => {
    it('opens a screen by a few letters, and is loaded only then', async () => {
      const { page, faults, close } = await open();
      const loaded = () =>
        page.evaluate(() =>
          performance.getEntriesByType('resource').some(({ name }) => /palette/.test(name)),
        );
      expect(await loaded()).toBe(false);
      await page.keyboard.press('Control+k');
      await page.getByRole('combobox').fill('playg');
      await expectAccessible(page);
      await page.keyboard.press('Enter');
      await page.getByRole('heading', { name: 'Playground' }).waitFor();
      expect(await loaded()).toBe(true);
      expect(await page.getByRole('dialog').count()).toBe(0);
      expect(faults).toEqual([]);
      await close();
    });

    it.each(['invoices', 'id'])('finds a batch by its %s', async (by) => {
      const { page, close } = await open();
      await page.keyboard.press('Control+k');
      await page.getByRole('combobox').fill(by === 'id' ? batchId : by);
      await page.getByRole('option', { name: '<img src=x onerror=alert(1)> invoices' }).click();
      await page.waitForURL(`${app.url}/console/batches/${batchId}`);
      await close();
    });

    it('finds orgs for admins alone', async () => {
      for (const [key, found] of [
        [app.app.firstKeys!.adminKey!, 1],
        [app.key, 0],
      ] as const) {
        const { page, close } = await open(key);
        await page.keyboard.press('Control+k');
        await page.getByRole('combobox').fill('resear');
        await (
          found ? page.getByRole('option', { name: 'research' }) : page.getByText('Nothing found.')
        ).waitFor();
        expect(await page.getByRole('option').count()).toBe(found);
        await close();
      }
    });

    it('moves by arrows, closes by Escape and gives the focus back', async () => {
      const { page, close } = await open();
      const button = page.getByRole('button', { name: 'Go to' });
      await button.focus();
      await page.keyboard.press('Enter');
      await page.getByRole('option').first().waitFor();
      const active = () => page.getByRole('combobox').getAttribute('aria-activedescendant');
      expect(await active()).toBe('palette-0');
      await page.keyboard.press('ArrowDown');
      expect(await active()).toBe('palette-1');
      await page.keyboard.press('Escape');
      await page.getByRole('dialog').waitFor({ state: 'detached' });
      expect(await button.evaluate((element) => element === document.activeElement)).toBe(true);
      await close();
    });

    it('signs out', async () => {
      const { page, close } = await open();
      await page.keyboard.press('Meta+k');
      await page.getByRole('combobox').fill('sign out');
      await page.keyboard.press('Enter');
      await page.getByRole('heading', { name: 'Sign in to Offpeak' }).waitFor();
      await close();
    });
  });

  it('shows its keys with ?, which a field takes as text', async () => {
    const { page, close } = await open();
    await page.keyboard.press('?');
    await page.getByRole('dialog', { name: 'Keyboard' }).getByText('Next row of a table').waitFor();
    await expectAccessible(page);
    await page.keyboard.press('Escape');
    await page.getByRole('link', { name: 'Playground' }).click();
    await page.getByLabel('System prompt').pressSequentially('? / j');
    expect(await page.getByLabel('System prompt').inputValue()).toBe('? / j');
    expect(await page.getByRole('dialog').count()).toBe(0);
    await close();
  });

  it('jumps to the search of the screen with /, to the palette where it has none', async () => {
    const { page, close } = await open();
    await page.keyboard.press('/');
    await page.getByRole('dialog', { name: 'Go to' }).waitFor();
    await page.goto(`${app.url}/console/batches/${batchId}/lines`);
    const search = page.locator('main input[type="search"]').first();
    await search.waitFor();
    await page.keyboard.press('/');
    expect(await search.evaluate((element) => element === document.activeElement)).toBe(true);
    await close();
  });

  it('skips to the content', async () => {
    const { page, close } = await open();
    await page.evaluate(() => (document.activeElement as HTMLElement | null)?.blur());
    await page.keyboard.press('Tab');
    const skip = page.getByRole('link', { name: 'Skip to the content' });
    expect((await skip.boundingBox())!.x).toBeGreaterThanOrEqual(0);
    await page.keyboard.press('Enter');
    expect(await page.evaluate(() => document.activeElement?.id)).toBe('screen');
    await close();
  });
}

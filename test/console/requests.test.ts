import type { Browser } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it, test } from 'vitest';
import { type RunningApp, startApp } from '../support/app.ts';
import { expectAccessible, openConsole, startBrowser } from './support/browser.ts';
import { buildConsole } from './support/build-console.ts';

const browser = await startBrowser();
if ('reason' in browser) test.skip(`the requests (skipped: ${browser.reason})`, () => {});
else requestsTests(browser);

function requestsTests(chromium: Browser): void {
  const hostile = '<img src=x onerror="alert(1)">';
  let app: RunningApp;
  let adminKey: string;
  let otherKey: string;

  const chat = async (model: string, key = app.key) => {
    const response = await fetch(`${app.url}/v1/chat/completions`, {
      method: 'POST',
      headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
      body: JSON.stringify({ model, messages: [{ role: 'user', content: 'a secret question' }] }),
    });
    await response.text();
    return response.headers.get('x-request-id')!;
  };

  beforeAll(async () => {
    buildConsole();
    app = await startApp({ keys: [{ org: hostile, scopes: ['inference', 'usage'] }] });
    adminKey = app.app.firstKeys!.adminKey!;
    otherKey = app.keys[0]!;
  });
  afterAll(async () => {
    await chromium.close();
    await app.stop();
  });

  it('says what to do before the first request', async () => {
    const { page, faults, close } = await openConsole(chromium, app.url, {
      key: adminKey,
      path: '/requests',
    });
    await page.getByText('No requests yet.').waitFor();
    await expectAccessible(page);
    expect(faults).toEqual([]);
    await close();
  });

  describe('with requests', () => {
    let answered: string;
    beforeAll(async () => {
      answered = await chat('tiny');
      await chat('tiny', otherKey);
      await chat(hostile, otherKey);
    });

    it('lists them with their cost, follows new ones, and never shows their content', async () => {
      const { page, faults, close } = await openConsole(chromium, app.url, {
        key: adminKey,
        path: '/requests',
      });
      const rows = page.getByRole('table', { name: 'Recent requests' }).locator('tbody tr');
      await rows.nth(2).waitFor();
      expect(await rows.count()).toBe(3);
      const first = rows.filter({ hasText: 'default ·' });
      expect(await first.getByText('200').count()).toBe(1);
      expect(await first.getByText(/^\$0\.0+[1-9]/).count()).toBe(1);
      await chat('tiny');
      await rows.nth(3).waitFor();
      expect(await page.content()).not.toContain('secret');
      await expectAccessible(page);
      expect(faults).toEqual([]);
      await close();
    });

    it('keeps filters and the open request in the address', async () => {
      const { page, faults, close } = await openConsole(chromium, app.url, {
        key: adminKey,
        path: '/requests?result=failed',
      });
      const rows = page.getByRole('table', { name: 'Recent requests' }).locator('tbody tr');
      await rows.getByText('404 model_not_found').waitFor();
      expect(await rows.count()).toBe(1);
      await page.getByLabel('Result').selectOption('All results');
      await page.getByLabel('Search').fill(answered);
      await expect.poll(() => rows.allTextContents()).toEqual([expect.stringContaining('default ·')]);
      expect(new URL(page.url()).search).toBe(`?q=${answered}`);
      await rows.first().focus();
      await page.keyboard.press('Enter');
      const dialog = page.getByRole('dialog', { name: 'Request' });
      await dialog.getByText(answered).waitFor();
      await dialog.getByText(/\d+ in; \d+ out/).waitFor();
      await expectAccessible(page);
      expect(new URL(page.url()).searchParams.get('request')).toBe(answered);
      await page.keyboard.press('Escape');
      await dialog.waitFor({ state: 'detached' });
      expect(faults).toEqual([]);
      await close();
    });

    it.each([
      [390, 'dark'],
      [2560, 'light'],
    ] as const)('is accessible, %d pixels wide and %s', async (width, colorScheme) => {
      const { page, close } = await openConsole(chromium, app.url, {
        key: adminKey,
        path: '/requests',
        viewport: { width, height: 900 },
        colorScheme,
      });
      await page.getByRole('table', { name: 'Recent requests' }).waitFor();
      await expectAccessible(page);
      await close();
    });
  });

  it('is not offered to keys that cannot read it, and says why', async () => {
    const { page, close } = await openConsole(chromium, app.url, { key: otherKey, path: '/requests' });
    await page.getByText('The requests could not be loaded.').waitFor();
    await page.getByText('admin').first().waitFor();
    expect(await page.getByRole('navigation').getByRole('link').allTextContents()).not.toContain('Requests');
    await close();
  });
}

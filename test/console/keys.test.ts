import type { Browser, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it, test } from 'vitest';
import { type RunningApp, startApp } from '../support/app.ts';
import { expectAccessible, openConsole, startBrowser } from './support/browser.ts';
import { buildConsole } from './support/build-console.ts';

const browser = await startBrowser();
if ('reason' in browser) test.skip(`keys (skipped: ${browser.reason})`, () => {});
else keysTests(browser);

function keysTests(chromium: Browser): void {
  const hostile = '<img src=x onerror="alert(1)">';
  let app: RunningApp;
  let adminKey: string;
  beforeAll(async () => {
    buildConsole();
    app = await startApp({ keys: [{ org: hostile }, { org: 'default', scopes: ['admin:read'] }] });
    adminKey = app.app.firstKeys!.adminKey!;
  });
  afterAll(async () => {
    await chromium.close();
    await app.stop();
  });

  const statusOf = async (key: string) => {
    const response = await fetch(`${app.url}/v1/models`, { headers: { authorization: `Bearer ${key}` } });
    await response.text();
    return response.status;
  };
  const row = (page: Page, table: string, text: string) =>
    page.getByRole('table', { name: table }).locator('tbody tr').filter({ hasText: text });
  const press = (page: Page, name: string) =>
    page.getByRole('dialog').getByRole('button', { name, exact: true }).click();

  /** Reads the secret that the dialog shows, and closes it. */
  async function takeSecret(page: Page): Promise<string> {
    await page.getByText('Copy the key now.').waitFor();
    await expectAccessible(page);
    const secret = await page.getByRole('dialog').locator('pre').textContent();
    await press(page, 'I have copied it');
    await page.getByRole('dialog').waitFor({ state: 'detached' });
    expect(await page.content()).not.toContain(secret);
    return secret!;
  }

  it('creates an org and a key, rotates it, disables it and revokes it', async () => {
    const { page, faults, close } = await openConsole(chromium, app.url, { key: adminKey, path: '/keys' });
    await page.getByRole('button', { name: 'New org' }).click();
    await page.getByLabel('Name').fill('ranking');
    await page.getByLabel('USD').fill('12.50');
    await expectAccessible(page);
    await press(page, 'Create org');
    await row(page, 'Orgs', 'ranking').getByText('$0 / $12.50').waitFor();

    await page.getByRole('button', { name: 'New key' }).click();
    await page.getByLabel('Name').fill('nightly');
    await page.getByRole('dialog').getByRole('combobox', { name: /^Org/ }).selectOption('ranking');
    await page.getByText('Limits', { exact: true }).click();
    await page.getByLabel('Requests per minute').fill('many');
    await press(page, 'Create key');
    await page.getByRole('alert').getByText('Requests per minute: write a whole number').waitFor();
    await page.getByLabel('Requests per minute').fill('600');
    await page.getByLabel('Models').fill('nowhere');
    await press(page, 'Create key');
    await page.getByRole('alert').getByText('unknown model').waitFor();
    await page.getByLabel('Models').fill('tiny');
    await page.getByLabel('Service tier').selectOption('flex');
    await expectAccessible(page);
    await press(page, 'Create key');
    const first = await takeSecret(page);
    expect(await statusOf(first)).toBe(200);

    await row(page, 'API keys', 'nightly').click();
    const dialog = page.getByRole('dialog');
    const limit = dialog.getByRole('row').filter({ hasText: 'Key: Requests per minute' });
    await limit.getByText('of 600').waitFor();
    await dialog.getByText('tiny').waitFor();
    await expectAccessible(page);
    await press(page, 'Rotate');
    await page.getByRole('combobox', { name: /^The old key/ }).selectOption('0');
    await press(page, 'Create the new key');
    const second = await takeSecret(page);
    expect(second).not.toBe(first);
    expect(await Promise.all([first, second].map(statusOf))).toEqual([401, 200]);

    await row(page, 'API keys', 'nightly').click();
    await press(page, 'Disable');
    await press(page, 'Disable key');
    await row(page, 'API keys', 'nightly').getByText('Disabled').waitFor();
    expect(await statusOf(second)).toBe(401);
    await row(page, 'API keys', 'nightly').click();
    await press(page, 'Enable');
    await press(page, 'Enable key');
    await row(page, 'API keys', 'nightly').getByText('Active').waitFor();
    expect(await statusOf(second)).toBe(200);

    await row(page, 'API keys', 'nightly').click();
    await press(page, 'Revoke');
    await press(page, 'Revoke key');
    await row(page, 'API keys', 'nightly').waitFor({ state: 'detached' });
    await expect.poll(() => page.evaluate(() => document.activeElement?.tagName)).toBe('TR');
    expect(await statusOf(second)).toBe(401);
    await page.getByRole('combobox', { name: /^Keys/ }).selectOption('all');
    await expect.poll(() => row(page, 'API keys', 'Revoked').count()).toBe(2);
    // The browser reports the model that the server rejected.
    expect(faults).toEqual([expect.stringContaining('422')]);
    await close();
  });

  it('changes the settings of an org', async () => {
    const { page, faults, close } = await openConsole(chromium, app.url, { key: adminKey, path: '/keys' });
    await row(page, 'Orgs', hostile).click();
    await page.getByLabel('Weight').fill('3');
    await page.getByLabel('Disabled').check();
    await press(page, 'Save');
    await row(page, 'Orgs', hostile).getByText('Disabled').waitFor();
    expect(await statusOf(app.keys[0]!)).toBe(403);
    await row(page, 'Orgs', hostile).click();
    expect(await page.getByLabel('Weight').inputValue()).toBe('3');
    await page.getByLabel('Disabled').uncheck();
    await press(page, 'Save');
    await row(page, 'Orgs', hostile).getByText('Active').waitFor();
    expect(faults).toEqual([]);
    await close();
  });

  it('loads keys in pages, and looks through all of them for a filter', async () => {
    const create = (name: string) =>
      fetch(`${app.url}/v1/admin/keys`, {
        method: 'POST',
        headers: { authorization: `Bearer ${adminKey}`, 'content-type': 'application/json' },
        body: JSON.stringify({ org_id: 'default', name }),
      }).then((response) => response.json());
    for (let n = 0; n < 205; n++) await create(`many ${n}`);
    await create('the last one');
    const { page, faults, close } = await openConsole(chromium, app.url, { key: adminKey, path: '/keys' });
    await row(page, 'API keys', 'many 0').first().waitFor();
    await row(page, 'Orgs', 'default').getByText('+').waitFor();
    await page.getByLabel('Search').fill('the last');
    await row(page, 'API keys', 'the last one').waitFor();
    await expect.poll(() => row(page, 'Orgs', 'default').getByText('+').count()).toBe(0);
    await page.getByLabel('Search').fill('no such key');
    await page.getByText('No key matches the filters.').waitFor();
    await page.getByLabel('Search').fill('');
    await page.getByRole('combobox', { name: /^Org/ }).selectOption({ label: hostile });
    await expect.poll(() => row(page, 'API keys', 'many').count()).toBe(0);
    expect(faults).toEqual([]);
    await close();
  });

  describe('for other keys', () => {
    it('shows a reader everything, and offers no change', async () => {
      const { page, close } = await openConsole(chromium, app.url, { key: app.keys[1]!, path: '/keys' });
      await row(page, 'API keys', 'first key').click();
      await page.getByRole('dialog').getByText('Never').first().waitFor();
      expect(await page.getByRole('dialog').getByRole('button').allTextContents()).toEqual([
        expect.stringContaining('Copy'),
        'Close',
      ]);
      await page.keyboard.press('Escape');
      expect(await page.getByRole('button', { name: /^New / }).count()).toBe(0);
      await close();
    });

    it('shows the own key alone', async () => {
      const { page, faults, close } = await openConsole(chromium, app.url, { key: app.key, path: '/keys' });
      await page.getByText('inference, batches, files, usage').waitFor();
      await page.getByRole('table', { name: 'Limits in use' }).getByText('Open batches').waitFor();
      expect(await page.getByRole('table').count()).toBe(1);
      await expectAccessible(page);
      expect(faults).toEqual([]);
      await close();
    });
  });

  it.each([
    [390, 'dark'],
    [2560, 'light'],
  ] as const)('is accessible, %d pixels wide and %s', async (width, colorScheme) => {
    const { page, close } = await openConsole(chromium, app.url, {
      key: adminKey,
      path: '/keys',
      viewport: { width, height: 900 },
      colorScheme,
    });
    await row(page, 'API keys', 'first key').waitFor();
    await expectAccessible(page);
    await close();
  });
}

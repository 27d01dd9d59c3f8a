import { readFile } from 'node:fs/promises';
import type { Browser } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it, test } from 'vitest';
import { type RunningApp, startApp } from '../support/app.ts';
import { until } from '../support/until.ts';
import { expectAccessible, openConsole, startBrowser } from './support/browser.ts';
import { buildConsole } from './support/build-console.ts';

const browser = await startBrowser();
if ('reason' in browser) test.skip(`the usage (skipped: ${browser.reason})`, () => {});
else usageTests(browser);

function usageTests(chromium: Browser): void {
  const hostile = '<img src=x onerror="alert(1)">';
  let app: RunningApp;
  let adminKey: string;

  const call = async (key: string, method: string, path: string, body?: object) => {
    const response = await fetch(app.url + path, {
      method,
      headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
      ...(body && { body: JSON.stringify(body) }),
    });
    return (await response.json()) as { data: { amount: string }[]; total: { requests: number } };
  };

  beforeAll(async () => {
    buildConsole();
    app = await startApp({ keys: [{ org: hostile, scopes: ['inference', 'usage'] }] });
    adminKey = app.app.firstKeys!.adminKey!;
  });
  afterAll(async () => {
    await chromium.close();
    await app.stop();
  });

  it('says that nothing was used and no budget is set', async () => {
    const { page, faults, close } = await openConsole(chromium, app.url, { key: app.key, path: '/usage' });
    await page.getByText('Nothing was used in these days.').waitFor();
    await page.getByText('No budget is set').waitFor();
    expect(await page.getByText('offpeak orgs update').count()).toBe(0);
    await expectAccessible(page);
    expect(faults).toEqual([]);
    await close();
  });

  describe('with usage', () => {
    beforeAll(async () => {
      const messages = [{ role: 'user', content: 'hello' }];
      for (const key of [app.key, app.key, app.keys[0]!])
        await call(key, 'POST', '/v1/chat/completions', { model: 'tiny', messages });
      await until('the ledger has them', async () => {
        const { total } = await call(adminKey, 'GET', '/v1/usage');
        return total.requests === 3;
      });
      await call(adminKey, 'PATCH', '/v1/admin/orgs/default', {
        budget: { amount: '0.000000001', period: 'month', hard: false },
      });
    });

    it('shows an admin all orgs, one of them, and their budgets', async () => {
      const { page, faults, close } = await openConsole(chromium, app.url, {
        key: adminKey,
        path: '/usage?by=org',
      });
      const rows = page.getByRole('table', { name: 'Usage by org' }).locator('tbody tr');
      await rows.filter({ hasText: hostile }).waitFor();
      expect(await rows.count()).toBe(2);
      await page.getByRole('slider', { name: 'Spend by day and org' }).waitFor();
      const budget = page.getByRole('table', { name: 'Budgets' }).locator('tbody tr');
      await budget.getByText('Exceeded').waitFor();
      await budget.getByText('Month, soft').waitFor();
      await page.getByRole('heading', { name: 'Limits of your key and org' }).waitFor();
      await expectAccessible(page);
      await rows.filter({ hasText: hostile }).click();
      await page.getByRole('heading', { name: 'Limits of the org' }).waitFor();
      const models = page.getByRole('table', { name: 'Usage by model' }).locator('tbody tr');
      await models.getByText('tiny').waitFor();
      await expect.poll(() => models.locator('td').nth(1).textContent()).toBe('1');
      expect(new URL(page.url()).searchParams.get('org')).toMatch(/^org_/);
      expect(faults).toEqual([]);
      await close();
    });

    it('shows the days that are drawn over or chosen, with their sums', async () => {
      const { page, faults, close } = await openConsole(chromium, app.url, { key: app.key, path: '/usage' });
      const chart = page.getByRole('slider', { name: 'Spend by day and model' }).locator('.u-over');
      const box = (await chart.boundingBox())!;
      const draw = async (from: number, to: number) => {
        const y = box.y + box.height / 2;
        await page.mouse.move(box.x + box.width * from, y);
        await page.mouse.down();
        await page.mouse.move(box.x + box.width * to, y, { steps: 4 });
        await page.mouse.up();
      };
      // Thirty days of equal width; the last one has the usage.
      await draw(0.01, 0.16);
      await page.getByText('in 5 days').waitFor();
      await page.getByText('Nothing was used in these days.').waitFor();
      const { searchParams } = new URL(page.url());
      expect(Date.parse(searchParams.get('to')!) - Date.parse(searchParams.get('from')!)).toBe(
        4 * 86_400_000,
      );
      await expectAccessible(page);
      await page.getByLabel('Last day').fill(new Date().toISOString().slice(0, 10));
      await page.getByText('in 30 days').waitFor();
      await page.getByRole('table', { name: 'Usage by model' }).getByText('tiny').waitFor();
      await page.getByLabel('Days (UTC)').selectOption('Last 7 days');
      await page.getByText('in 7 days').waitFor();
      expect(new URL(page.url()).search).toBe('?range=7d');
      expect(faults).toEqual([]);
      await close();
    });

    it('reads and chooses days with the keyboard alone', async () => {
      const { page, faults, close } = await openConsole(chromium, app.url, { key: app.key, path: '/usage' });
      const chart = page.getByRole('slider', { name: 'Spend by day and model' });
      await chart.focus();
      await page.getByText('Arrow keys move').waitFor();
      await expectAccessible(page);
      await page.keyboard.press('End');
      const today = new Date().toISOString().slice(0, 10);
      expect(await chart.getAttribute('aria-valuetext')).toMatch(new RegExp(`^${today}, tiny \\$`));
      expect(await chart.getAttribute('aria-valuenow')).toBe('29');
      await page.keyboard.press('Shift+ArrowLeft');
      await page.keyboard.press('Escape');
      await page.keyboard.press('Enter');
      await page.keyboard.press('End');
      for (let n = 0; n < 4; n++) await page.keyboard.press('Shift+ArrowLeft');
      expect(new URL(page.url()).search).toBe('');
      await page.keyboard.press('Enter');
      await page.getByText('in 5 days').waitFor();
      expect(await chart.evaluate((element) => element === document.activeElement)).toBe(true);
      expect(faults).toEqual([]);
      await close();
    });

    it('chooses days with a finger, which still scrolls up and down', async () => {
      const { page, faults, close } = await openConsole(chromium, app.url, {
        key: app.key,
        path: '/usage',
        viewport: { width: 400, height: 800 },
        hasTouch: true,
      });
      const chart = page.getByRole('slider', { name: 'Spend by day and model' }).locator('.u-over');
      await chart.scrollIntoViewIfNeeded();
      const { x, y, width, height } = (await chart.boundingBox())!;
      const finger = await page.context().newCDPSession(page);
      const draw = async (points: [number, number][]) => {
        for (const [index, [left, top]] of points.entries())
          await finger.send('Input.dispatchTouchEvent', {
            type: index === 0 ? 'touchStart' : 'touchMove',
            touchPoints: [{ x: x + left * width, y: y + top * height }],
          });
        await finger.send('Input.dispatchTouchEvent', { type: 'touchEnd', touchPoints: [] });
      };
      const middle = [0.3, 0.2, 0.1, 0].map((left): [number, number] => [0.99 - left, 0.5]);
      await draw([0.9, 0.6, 0.3, 0].map((top): [number, number] => [0.5, top]));
      expect(await page.evaluate(() => scrollY)).toBeGreaterThan(0);
      await page.evaluate(() => scrollTo(0, 0));
      expect(new URL(page.url()).search).toBe('');
      await draw(middle);
      await page.waitForURL(/from=.*to=/);
      expect(faults).toEqual([]);
      await close();
    });

    it('shows how much of each limit is used, in words', async () => {
      const limits = { requests_per_minute: 1, open_batches: 5 };
      await call(adminKey, 'PATCH', '/v1/admin/orgs/default', { limits });
      const messages = [{ role: 'user', content: 'hello' }];
      const answer = await fetch(`${app.url}/v1/chat/completions`, {
        method: 'POST',
        headers: { authorization: `Bearer ${app.key}`, 'content-type': 'application/json' },
        body: JSON.stringify({ model: 'tiny', messages }),
      });
      await answer.text();
      const { page, faults, close } = await openConsole(chromium, app.url, { key: app.key, path: '/usage' });
      const row = (limit: string) =>
        page.getByRole('table', { name: 'Limits in use' }).locator('tbody tr').filter({ hasText: limit });
      await row('Requests per minute').getByText('Used up').waitFor();
      await row('Requests per minute').getByRole('img', { name: '1 of 1, 100 %' }).waitFor();
      await row('Requests per minute').locator('time').waitFor();
      await row('Open batches').getByText('Free', { exact: true }).waitFor();
      await row('Open batches').getByRole('img', { name: '0 of 5, 0 %' }).waitFor();
      await expectAccessible(page);
      expect(faults).toEqual([]);
      await close();
      await call(adminKey, 'PATCH', '/v1/admin/orgs/default', { limits: null });
    });

    it('shows other keys their own org, and saves it as CSV', async () => {
      const { page, faults, close } = await openConsole(chromium, app.url, {
        key: app.keys[0]!,
        path: '/usage?range=7d',
      });
      await page.getByRole('table', { name: 'Usage by model' }).getByText('tiny').waitFor();
      expect(await page.getByLabel('Org').count()).toBe(0);
      const [download] = await Promise.all([
        page.waitForEvent('download'),
        page.getByRole('button', { name: 'Download CSV' }).click(),
      ]);
      expect(download.suggestedFilename()).toMatch(/^usage-[\d-]+-by-model\.csv$/);
      const lines = (await readFile(await download.path(), 'utf8')).trim().split(/\r?\n/);
      expect(lines).toHaveLength(2);
      expect(lines[0]).toMatch(/^day,model,requests,/);
      expect(lines[1]).toMatch(/,tiny,1,/);
      expect(faults).toEqual([]);
      await close();
    });

    it.each([
      [390, 'dark'],
      [2560, 'light'],
    ] as const)('is accessible, %d pixels wide and %s', async (width, colorScheme) => {
      const { page, close } = await openConsole(chromium, app.url, {
        key: adminKey,
        path: '/usage',
        viewport: { width, height: 900 },
        colorScheme,
      });
      await page.getByRole('table', { name: 'Budgets' }).waitFor();
      await expectAccessible(page);
      await close();
    });
  });
}

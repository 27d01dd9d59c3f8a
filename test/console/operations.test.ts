import type { Browser } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it, test } from 'vitest';
import { parseHours } from '../../src/core/hours.ts';
import { type RunningApp, startApp, testModel, upstreamEngine } from '../support/app.ts';
import { complete, type FakeUpstream, startFakeUpstream } from '../support/fake-upstream.ts';
import { expectAccessible, openConsole, startBrowser } from './support/browser.ts';
import { buildConsole } from './support/build-console.ts';

const browser = await startBrowser();
if ('reason' in browser) test.skip(`the operations (skipped: ${browser.reason})`, () => {});
else operationsTests(browser);

function operationsTests(chromium: Browser): void {
  let upstream: FakeUpstream;
  let app: RunningApp;
  let adminKey: string;
  let readKey: string;

  beforeAll(async () => {
    buildConsole();
    upstream = await startFakeUpstream(complete('ok'));
    app = await startApp({
      models: [
        {
          ...testModel(upstreamEngine(upstream.url, 2)),
          hours: { ...parseHours('00:00-23:59 UTC')!, share: 0.25 },
        },
      ],
      egress: { allow: ['127.0.0.1'] },
      keys: [
        { org: 'second', scopes: ['admin:read'] },
        { org: 'second', scopes: ['inference'] },
      ],
    });
    adminKey = app.app.firstKeys!.adminKey!;
    readKey = app.keys[0]!;
  });
  afterAll(async () => {
    await chromium.close();
    await app.stop();
    await upstream.close();
  });

  const open = (key: string, tab: string) =>
    openConsole(chromium, app.url, { key, path: `/operations?tab=${tab}` });

  describe('an admin', () => {
    it('drains a server and uses it again', async () => {
      const { page, faults, close } = await open(adminKey, 'servers');
      const row = page.getByRole('table', { name: 'Servers' }).getByRole('row').nth(1);
      await row.getByText('Up').waitFor();
      await expectAccessible(page);
      // 1,280 pixels show each column, without a scroll to the button.
      const region = page.getByRole('region', { name: 'Servers' });
      expect(await region.evaluate((box) => box.scrollWidth - box.clientWidth)).toBe(0);
      await row.getByRole('button', { name: /^Drain / }).click();
      await row.getByText('Drained').waitFor();
      await row.getByRole('button', { name: /^Undrain / }).click();
      await row.getByText('Up').waitFor();
      expect(faults).toEqual([]);
      await close();
    });

    it('sees the cap of each server, and the hours of the models', async () => {
      const { page, faults, close } = await open(adminKey, 'servers');
      const row = page.getByRole('table', { name: 'Servers' }).getByRole('row').nth(1);
      await row.getByTitle('Slots that the configuration fixes').getByText('2', { exact: true }).waitFor();
      const hours = page.getByRole('table', { name: 'Batch hours' }).getByRole('row').nth(1);
      await hours.getByText('00:00-23:59 UTC').waitFor();
      await hours.getByText('25 %').waitFor();
      await expectAccessible(page);
      expect(faults).toEqual([]);
      await close();
    });

    it('caps a server and removes the cap', async () => {
      const { page, faults, close } = await open(adminKey, 'servers');
      const row = page.getByRole('table', { name: 'Servers' }).getByRole('row').nth(1);
      await row.getByRole('button', { name: /^Change the cap/ }).click();
      await page.keyboard.type('1');
      await expectAccessible(page);
      await page.keyboard.press('Enter');
      await row
        .getByTitle(/^Set .* by key_/)
        .getByText('1', { exact: true })
        .waitFor();
      await row.getByText('0 / 1').waitFor();
      await row.getByRole('button', { name: /^Change the cap/ }).click();
      await page.keyboard.press('Backspace');
      await page.keyboard.press('Enter');
      await row.getByTitle('Slots that the configuration fixes').getByText('2', { exact: true }).waitFor();
      await row.getByText('0 / 2').waitFor();
      expect(faults).toEqual([]);
      await close();
    });

    it('sees the processes', async () => {
      const { page, faults, close } = await open(adminKey, 'processes');
      const row = page.getByRole('table', { name: 'Processes' }).getByRole('row').nth(1);
      await row.getByText('answers here').waitFor();
      await row.getByText('Alive').waitFor();
      await row.getByText('No work').waitFor();
      await expectAccessible(page);
      expect(faults).toEqual([]);
      await close();
    });

    it('pauses the batches of an org, and resumes them', async () => {
      const { page, faults, close } = await open(adminKey, 'pauses');
      await page.getByText('No batches are paused by an administrator.').waitFor();
      await page.getByRole('button', { name: 'Pause batches' }).click();
      const dialog = page.getByRole('dialog', { name: 'Pause batches' });
      await dialog.getByRole('button', { name: 'Pause all batches' }).waitFor();
      await expectAccessible(page);
      await dialog.getByLabel('Org').selectOption({ label: 'second' });
      await dialog.getByRole('button', { name: 'Pause these batches' }).click();
      await dialog.waitFor({ state: 'detached' });
      const row = page.getByRole('table', { name: 'Pauses in force' }).getByRole('row').nth(1);
      expect(await row.getByRole('cell').allTextContents()).toEqual(
        expect.arrayContaining(['All models', 'second']),
      );
      await row.getByRole('button', { name: 'Resume all models of second' }).click();
      await page.getByText('No batches are paused by an administrator.').waitFor();
      expect(faults).toEqual([]);
      await close();
    });

    it('closes a dialog with Escape, and the focus goes back', async () => {
      const { page, close } = await open(adminKey, 'pauses');
      await page.getByRole('button', { name: 'Pause batches' }).click();
      await page.getByRole('dialog').waitFor();
      await page.keyboard.press('Escape');
      await page.getByRole('dialog').waitFor({ state: 'detached' });
      expect(await page.evaluate(() => document.activeElement?.textContent)).toBe('Pause batches');
      await close();
    });

    it('finds a change in the audit log by its target, with what was before', async () => {
      const send = async (method: string, path: string, json: object) => {
        const headers = { authorization: `Bearer ${adminKey}`, 'content-type': 'application/json' };
        const response = await fetch(app.url + path, { method, headers, body: JSON.stringify(json) });
        return (await response.json()) as { id: string };
      };
      const { id } = await send('POST', '/v1/admin/orgs', { name: '<i>third</i>' });
      await send('PATCH', `/v1/admin/orgs/${id}`, { weight: 3 });
      const { page, faults, close } = await open(adminKey, 'audit');
      await page.getByLabel('Target').fill(id);
      await page.getByRole('button', { name: 'Filter' }).click();
      const rows = page.getByRole('table', { name: 'Audit log' }).getByRole('row');
      await expect.poll(() => rows.count()).toBe(3);
      expect(page.url()).toContain(`target=${id}`);
      await rows.nth(1).getByText('weight: 1 → 3').waitFor();
      await expectAccessible(page);
      // With the keyboard: down to the older entry, which opens.
      await rows.nth(1).focus();
      await page.keyboard.press('j');
      await page.keyboard.press('Enter');
      await page
        .getByRole('dialog', { name: `org.create of ${id}` })
        .getByText('"<i>third</i>"')
        .waitFor();
      await expectAccessible(page);
      expect(faults).toEqual([]);
      await close();
    });
  });

  it('shows an admin that only reads no actions', async () => {
    const { page, close } = await open(readKey, 'servers');
    await page.getByRole('table', { name: 'Servers' }).waitFor();
    expect(await page.getByRole('button', { name: /drain/i }).count()).toBe(0);
    await page.getByRole('link', { name: 'Pauses' }).click();
    await page.getByText('No batches are paused by an administrator.').waitFor();
    expect(await page.getByRole('button', { name: 'Pause batches' }).count()).toBe(0);
    await close();
  });

  it('shows an org its webhooks, with deliveries to send again', async () => {
    await app.api.post('/v1/webhooks', { url: 'https://127.0.0.1:9/hook', name: 'ci' });
    const { page, faults, close } = await open(app.key, 'servers');
    expect(await page.getByRole('link', { name: 'Servers' }).count()).toBe(0);
    await page.getByRole('link', { name: 'ci' }).click();
    await page.getByText('Nothing was sent to this webhook yet.').waitFor();
    await page.getByRole('button', { name: 'Send a test event' }).click();
    const rows = page.getByRole('table', { name: 'Deliveries' }).getByRole('row');
    await rows.nth(1).getByText('Failed').waitFor();
    await rows
      .nth(1)
      .getByRole('button', { name: /^Replay/ })
      .click();
    await expect.poll(() => rows.count()).toBe(3);
    await expectAccessible(page);
    await page.getByRole('button', { name: 'Disable ci' }).click();
    await page.getByRole('table', { name: 'Webhooks' }).getByText('Disabled').waitFor();
    expect(faults).toEqual([]);
    await close();
  });

  it('is not in the menu of a key that operates nothing', async () => {
    const { page, close } = await openConsole(chromium, app.url, { key: app.keys[1]! });
    await page.getByText('This key shows no batches.').waitFor();
    expect(await page.getByRole('link', { name: 'Operations' }).count()).toBe(0);
    await close();
  });
}

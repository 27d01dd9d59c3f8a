import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Browser } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it, test } from 'vitest';
import { chatLine, chatLines } from '../server/support/jsonl.ts';
import { type RunningServer, startServer } from '../server/support/start-server.ts';
import { expectAccessible, openConsole, startBrowser } from './support/browser.ts';
import { buildConsole } from './support/build-console.ts';

const browser = await startBrowser();
if ('reason' in browser) test.skip(`a new batch (skipped: ${browser.reason})`, () => {});
else newBatchTests(browser);

function newBatchTests(chromium: Browser): void {
  let app: RunningServer;
  let folder: string;

  beforeAll(async () => {
    buildConsole();
    app = await startServer({
      windows: [
        { ms: 3_600_000, priceFactor: 0.8 },
        { ms: 86_400_000, priceFactor: 0.5 },
      ],
    });
    folder = await mkdtemp(join(tmpdir(), 'offpeak-new-batch-'));
  });
  afterAll(async () => {
    await chromium.close();
    await app.stop();
    await rm(folder, { recursive: true, force: true });
  });

  const batches = async () => (await app.call('GET', '/v1/batches')).json.data;
  const files = async () => (await app.call('GET', '/v1/files')).json.data;

  async function opened(text: string, more = {}) {
    const path = join(folder, 'requests.jsonl');
    await writeFile(path, text);
    const shown = await openConsole(chromium, app.url, { key: app.keys.a, path: '/batches/new', ...more });
    await shown.page.getByLabel(/Drop a JSONL file/).setInputFiles(path);
    return shown;
  }

  describe('a new batch', () => {
    it('shows faults with line and field, before anything is sent', async () => {
      const bad = { ...chatLine(1), custom_id: '<b>x</b>', body: { model: 'tiny', messages: 'none' } };
      const { page, faults, close } = await opened(
        `${JSON.stringify(chatLine(0))}\n${JSON.stringify(bad)}\n{"x\n`,
      );
      await page.getByText('The file has 2 faults.').waitFor();
      const row = page.getByRole('row').filter({ hasText: 'body.messages' });
      expect(await row.getByRole('cell').first().textContent()).toBe('2');
      expect(await row.textContent()).toContain('<b>x</b>');
      expect(await page.getByRole('button', { name: /Upload/ }).count()).toBe(0);
      expect(await files()).toEqual([]);
      await expectAccessible(page);
      expect(faults).toEqual([]);
      await close();
    });

    it('warns about misspelt parameters, and can be created all the same', async () => {
      const misspelt = { ...chatLine(0), body: { ...(chatLine(0) as { body: object }).body, temperture: 0 } };
      const { page, faults, close } = await opened(`${JSON.stringify(misspelt)}\n`);
      await page.getByText('The file is valid.').waitFor();
      await page
        .getByText('Unknown field temperture in 1 request, in line 1; did you mean temperature?')
        .waitFor();
      expect(await page.getByRole('button', { name: /Upload/ }).count()).toBe(1);
      await expectAccessible(page);
      expect(faults).toEqual([]);
      await close();
    });

    it('is priced, named and created; the batch is one click away', async () => {
      const { page, faults, close } = await opened(chatLines(30));
      await page.getByText('The file is valid.').waitFor();
      await page.getByRole('button', { name: 'Upload and show the cost' }).click();
      await page.getByText('Cost at most').waitFor();
      await page.getByText('Unknown: No request of the model was measured yet.').waitFor();
      expect(await batches()).toEqual([]);
      await expectAccessible(page);
      await page.getByLabel('Name').fill('from the console');
      await page.getByRole('button', { name: 'Create the batch' }).click();
      await page.getByText('The batch was created.').waitFor();
      const [made] = await batches();
      expect(made).toMatchObject({ metadata: { name: 'from the console' }, request_counts: { total: 30 } });
      await page.getByRole('link', { name: 'Watch from the console' }).click();
      await page.getByRole('heading', { name: 'from the console' }).waitFor();
      await page.getByRole('link', { name: 'Lines', exact: true }).click();
      await page.getByRole('table', { name: 'Lines' }).waitFor();
      expect(await files()).not.toEqual([]);
      expect(faults).toEqual([]);
      await close();
    });

    it('leaves no file behind when it is discarded', async () => {
      const before = await files();
      const { page, close } = await opened(chatLines(3));
      await page.getByRole('button', { name: 'Upload and show the cost' }).click();
      await page.getByRole('button', { name: 'Discard the upload' }).click();
      await page.getByRole('button', { name: 'Upload and show the cost' }).waitFor();
      await expect.poll(files).toEqual(before);
      await close();
    });

    it('is split where it has more requests than a batch may have', async () => {
      const { page, close } = await opened(chatLines(10_001));
      await page.getByText('2, because a batch has at most').waitFor();
      await close();
    });

    it('runs in the window that is chosen, at its price', async () => {
      const { page, faults, close } = await opened(chatLines(30));
      await page.getByRole('button', { name: 'Upload and show the cost' }).click();
      const choice = page.getByLabel('Completion window');
      await choice.waitFor();
      const cost = page.locator('dl > div').filter({ hasText: 'Cost at most' });
      const usual = await cost.textContent();
      expect(await choice.locator('option').allTextContents()).toEqual([
        expect.stringMatching(/^1h, \$/),
        expect.stringMatching(/^24h, \$/),
      ]);
      expect(await choice.inputValue()).toBe('24h');
      await choice.selectOption('1h');
      expect(await cost.textContent()).not.toBe(usual);
      await expectAccessible(page);
      await page.getByRole('button', { name: 'Create the batch' }).click();
      await page.getByText('The batch was created.').waitFor();
      expect((await batches())[0].completion_window).toBe('1h');
      expect(faults).toEqual([]);
      await close();
    });

    it('takes a file that is dropped, 390 pixels wide', async () => {
      const { page, close } = await openConsole(chromium, app.url, {
        key: app.keys.a,
        path: '/batches/new',
        viewport: { width: 390, height: 800 },
      });
      await page.getByText('Drop a JSONL file here').waitFor();
      await expectAccessible(page);
      const transfer = await page.evaluateHandle((text) => {
        const dropped = new DataTransfer();
        dropped.items.add(new File([text], 'dropped.jsonl'));
        return dropped;
      }, chatLines(2));
      await page.getByText('Drop a JSONL file here').dispatchEvent('drop', { dataTransfer: transfer });
      await page.getByText('The file is valid.').waitFor();
      await close();
    });
  });
}

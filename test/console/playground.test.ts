import { execFile } from 'node:child_process';
import { rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import type { Browser, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it, test } from 'vitest';
import { type RunningApp, startApp } from '../support/app.ts';
import { expectAccessible, openConsole, startBrowser } from './support/browser.ts';
import { buildConsole } from './support/build-console.ts';

const browser = await startBrowser();
if ('reason' in browser) test.skip(`the playground (skipped: ${browser.reason})`, () => {});
else playgroundTests(browser);

function playgroundTests(chromium: Browser): void {
  let app: RunningApp;
  beforeAll(async () => {
    buildConsole();
    app = await startApp();
  });
  afterAll(async () => {
    await chromium.close();
    await app.stop();
  });

  const open = (format: string, more = '') =>
    openConsole(chromium, app.url, { key: app.key, path: `/playground?format=${format}${more}` });
  const message = (page: Page, number = 1) => page.getByLabel(`Message ${number}`, { exact: true });
  const stat = (page: Page, label: string) =>
    page.locator('dl > div').filter({ hasText: label }).locator('dd').first();

  describe.each(['chat', 'responses', 'messages'])('in the format %s', (format) => {
    it.each(['stream', 'one piece'])('shows the answer with its measures, as %s', async (how) => {
      const { page, faults, close } = await open(format);
      await message(page).fill('[[json <b>Hello</b> **x** <script>alert(1)</script>]]');
      if (how !== 'stream') await page.getByLabel('Stream the answer').uncheck();
      await page.keyboard.press('Control+Enter');
      await page.getByText('Done', { exact: true }).waitFor();
      expect(await page.getByTestId('answer').textContent()).toBe(
        '<b>Hello</b> **x** <script>alert(1)</script>',
      );
      for (const label of ['Tokens in', 'Tokens out'])
        expect(Number(await stat(page, label).textContent())).toBeGreaterThan(0);
      expect(await stat(page, 'Cost').textContent()).toMatch(/^\$0\.0+[1-9]/);
      expect(await stat(page, 'Whole answer').textContent()).toMatch(/ m?s$/);
      expect(await stat(page, 'First token').textContent()).toMatch(how === 'stream' ? / m?s$/ : /^–$/);
      await expectAccessible(page);
      expect(faults).toEqual([]);
      await close();
    });

    it.each(['stream', 'one piece'])('shows the call of a tool, as %s', async (how) => {
      const { page, close } = await open(format);
      await message(page).fill('[[tool get_weather {"city":"Rome"}]]');
      await page.getByText('Tools', { exact: true }).click();
      await page.getByRole('button', { name: 'Insert an example' }).first().click();
      if (how !== 'stream') await page.getByLabel('Stream the answer').uncheck();
      await page.getByRole('button', { name: 'Send', exact: true }).click();
      await page.getByText('Done', { exact: true }).waitFor();
      expect(await page.getByText('Calls get_weather').count()).toBe(1);
      expect(await page.getByText('{"city":"Rome"}', { exact: true }).count()).toBe(1);
      await close();
    });

    it('answers by a schema', async () => {
      const { page, close } = await open(format);
      await message(page).fill('Which city?');
      await page.getByText('JSON Schema of the answer', { exact: true }).click();
      await page.getByRole('button', { name: 'Insert an example' }).last().click();
      await page.getByRole('button', { name: 'Send', exact: true }).click();
      await page.getByText('Done', { exact: true }).waitFor();
      expect(JSON.parse((await page.getByTestId('answer').textContent())!)).toHaveProperty('capital');
      await close();
    });

    it('says what failed and what to do, also in the middle of a stream', async () => {
      const { page, close } = await open(format);
      for (const [prompt, code] of [
        ['[[fail 500]]', 'upstream_error'],
        ['[[tokens 50]][[cut 2]]', 'invalid_upstream_response'],
      ] as const) {
        await message(page).fill(prompt);
        await page.getByRole('button', { name: 'Send', exact: true }).click();
        const alert = page.getByRole('alert');
        await alert.getByText(code).waitFor();
        expect(await alert.textContent()).toContain('Send again.');
        expect(await alert.getByText(/^req_/).count()).toBe(1);
      }
      await close();
    });

    it('stops a stream, and keeps what has come', async () => {
      const { page, faults, close } = await open(format);
      await message(page).fill('[[hang]]');
      await page.getByRole('button', { name: 'Send', exact: true }).click();
      await page.getByRole('button', { name: 'Stop' }).click();
      await page.getByText('Stopped').waitFor();
      expect(await page.getByRole('button', { name: 'Send', exact: true }).count()).toBe(1);
      expect(faults).toEqual([]);
      await close();
    });

    it.each(['stream', 'one piece'])('has JavaScript that runs as it is, as %s', async (how) => {
      const { page, close } = await open(format, '&code=javascript');
      await message(page).fill('It\'s "quoted" `${1}` \\n\u2028 [[json Hello from the client]]');
      if (how !== 'stream') await page.getByLabel('Stream the answer').uncheck();
      const code = (await page.getByLabel('JavaScript', { exact: true }).last().textContent())!;
      const file = join(import.meta.dirname, `.pasted-${format}-${how.replace(' ', '-')}.mjs`);
      try {
        writeFileSync(file, code);
        expect(await runWithKey(process.execPath, [file])).toContain('Hello from the client');
      } finally {
        rmSync(file, { force: true });
      }
      await close();
    });

    it.each(['stream', 'one piece'])('has a curl command that runs as it is, as %s', async (how) => {
      const { page, close } = await open(format);
      await message(page).fill("It's $HOME !! `id` \\ [[json Hello from curl]]");
      if (how !== 'stream') await page.getByLabel('Stream the answer').uncheck();
      const code = (await page.getByLabel('curl', { exact: true }).last().textContent())!;
      const answer = await runWithKey('bash', ['-c', code]);
      expect(answer).toContain(how === 'stream' ? 'curl' : 'Hello from curl');
      expect(answer).not.toContain('"error":{');
      await close();
    });
  });

  /** Standard output of a program that has the key in its environment. */
  async function runWithKey(file: string, args: readonly string[]): Promise<string> {
    const { stdout } = await promisify(execFile)(file, args, {
      env: { ...process.env, OFFPEAK_API_KEY: app.key },
    });
    return stdout;
  }

  it('names what is missing before it sends anything', async () => {
    const { page, close } = await open('chat');
    await page.getByRole('button', { name: 'Send', exact: true }).click();
    await page.getByText('Write a message').first().waitFor();
    expect(await page.getByText('Running').count()).toBe(0);
    await expectAccessible(page);
    await close();
  });

  it('sends the request as a batch of one line', async () => {
    const { page, close } = await open('messages');
    await message(page).fill('[[json From a batch]]');
    await page.getByRole('button', { name: 'Send as a batch line' }).click();
    const link = page.getByRole('status').getByRole('link', { name: /^batch_/ });
    const id = (await link.textContent())!;
    expect(await link.getAttribute('href')).toBe(`/console/batches/${id}`);
    const { request_counts: counts } = await app.api.finished(id);
    expect(counts).toEqual({ total: 1, completed: 1, failed: 0 });
    await close();
  });

  it('keeps format and model in the address, and prompts in memory alone', async () => {
    const { page, close } = await open('chat');
    await message(page).fill('A secret prompt');
    await page.getByLabel('Format').selectOption('/v1/messages');
    await page.getByLabel('Model').selectOption('tiny');
    await page.getByText('Python', { exact: true }).click();
    await page.waitForURL(/format=messages/);
    expect(new URL(page.url()).search).toBe('?format=messages&model=tiny&code=python');
    await page.getByRole('link', { name: 'Overview' }).click();
    await page.getByRole('heading', { name: 'Overview' }).waitFor();
    await page.getByRole('link', { name: 'Playground' }).click();
    expect(await message(page).inputValue()).toBe('A secret prompt');
    await page.reload();
    expect(await message(page).inputValue()).toBe('');
    await close();
  });

  it('continues a conversation with the answer', async () => {
    const { page, close } = await open('chat');
    await message(page).fill('[[json First answer]]');
    await page.keyboard.press('Control+Enter');
    await page.getByRole('button', { name: 'Continue' }).click();
    expect(await message(page, 2).inputValue()).toBe('First answer');
    expect(await page.getByLabel('Role of message 3').inputValue()).toBe('user');
    await close();
  });
}

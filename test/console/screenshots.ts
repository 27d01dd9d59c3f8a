// Makes the screenshots of the console for README.md and docs/console.md, of a server with plausible data.
//
//   node test/console/screenshots.ts           into docs/images
//   node test/console/screenshots.ts FOLDER    every screen, light and dark, at three widths, to look at

import { mkdirSync, mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { setTimeout as wait } from 'node:timers/promises';
import { join } from 'node:path';
import type { Browser, Page } from 'playwright-core';
import { chatLine, jsonl } from '../support/batch-lines.ts';
import { openConsole, settled, startBrowser } from './support/browser.ts';
import { buildConsole } from './support/build-console.ts';
import { type Showcase, startShowcase } from './support/showcase.ts';

/** Time in which rates are measured, in milliseconds. */
const recentMs = 25_000;

interface Look {
  width: number;
  height: number;
  colorScheme: 'light' | 'dark';
}

const looks: readonly Look[] = [390, 1280, 2560].flatMap((width) =>
  (['light', 'dark'] as const).map((colorScheme) => ({
    width,
    height: width < 500 ? 844 : 900,
    colorScheme,
  })),
);

/** Pictures of the documentation: name and path, each once. */
function publishedScreens({ running, failed }: Showcase): [name: string, path: string][] {
  return [
    ['overview', '/'],
    ['batches', '/batches'],
    ['batch', `/batches/${running}`],
    ['lines', `/batches/${failed}/lines?line=13`],
    ['new-batch', '/batches/new'],
    ['requests', '/requests'],
    ['usage', '/usage'],
    ['keys', '/keys'],
    ['operations', '/operations'],
    ['playground', '/playground'],
  ];
}
const publishedLook: Look = { width: 1280, height: 760, colorScheme: 'light' };

async function main(folder: string | undefined): Promise<void> {
  preferFonts();
  const browser = await startBrowser();
  if ('reason' in browser) throw new Error(browser.reason);
  buildConsole();
  const showcase = await startShowcase();
  await wait(recentMs);
  if (folder === undefined) {
    for (const [name, path] of publishedScreens(showcase)) {
      const file = join(import.meta.dirname, `../../docs/images/console-${name}.webp`);
      await take(browser, showcase, path, publishedLook, file);
    }
  } else {
    for (const path of await screenPaths(browser, showcase))
      for (const look of looks) {
        const name = path.replaceAll(/\W+/g, '-').replace(/^-$/, '-overview');
        const file = join(folder, `${name.slice(1)}-${look.width}-${look.colorScheme}.webp`);
        await take(browser, showcase, path, look, file);
      }
  }
  await browser.close();
  await showcase.stop();
}

/** Prefers the fonts that a reader is likely to have to the first one of a server without a desktop. */
function preferFonts(): void {
  const fonts = ['Inter', 'Roboto', 'Noto Sans', 'Liberation Sans'].map((name) => `<string>${name}</string>`);
  const aliases = ['system-ui', 'sans-serif'].map(
    (name) =>
      `<match><test name="family"><string>${name}</string></test>` +
      `<edit name="family" mode="prepend" binding="strong">${fonts.join('')}</edit></match>`,
  );
  const file = join(mkdtempSync(join(tmpdir(), 'offpeak-fonts-')), 'fonts.conf');
  writeFileSync(
    file,
    `<fontconfig><include ignore_missing="yes">/etc/fonts/fonts.conf</include>${aliases.join('')}</fontconfig>`,
  );
  process.env['FONTCONFIG_FILE'] = file;
}

/** Every screen of the navigation, and those of one batch. */
async function screenPaths(
  browser: Browser,
  { url, adminKey, failed, running }: Showcase,
): Promise<string[]> {
  const { page, close } = await openConsole(browser, url, { key: adminKey });
  const links = page.getByRole('navigation', { name: 'Screens' }).locator('a[href^="/console"]');
  const paths = await links.evaluateAll((all) =>
    all.map((link) => new URL((link as HTMLAnchorElement).href).pathname),
  );
  await close();
  const own = paths.map((path) => path.replace('/console', ''));
  return [...own, `/batches/${running}`, `/batches/${failed}`, `/batches/${failed}/lines`];
}

async function take(
  browser: Browser,
  { url, adminKey }: Showcase,
  path: string,
  look: Look,
  file: string,
): Promise<void> {
  const { width, height, colorScheme } = look;
  const { page, close } = await openConsole(browser, url, {
    key: adminKey,
    path,
    viewport: { width, height },
    colorScheme,
  });
  await settled(page);
  await page.mouse.move(0, 0);
  await page.getByLabel('Loading', { exact: true }).first().waitFor({ state: 'detached' });
  if (path.startsWith('/playground')) await askSomething(page);
  if (path === '/batches/new') await chooseFile(page);
  mkdirSync(join(file, '..'), { recursive: true });
  writeFileSync(file, await webp(page));
  console.log(file);
  await close();
}

async function askSomething(page: Page): Promise<void> {
  await page.getByLabel('System prompt').fill('You write for a shop that sells outdoor clothes.');
  await page
    .getByLabel('Message 1', { exact: true })
    .fill('Describe a waterproof hiking jacket in two sentences.');
  await page.getByLabel('Stream the answer').uncheck();
  await page.keyboard.press('Control+Enter');
  await page.getByText('Done', { exact: true }).waitFor();
}

async function chooseFile(page: Page): Promise<void> {
  const lines = Array.from({ length: 2_400 }, (_, n) =>
    chatLine(`ticket-${n}`, `Which team should handle ticket ${n}?`, {
      model: 'llama-3.1-8b',
      max_tokens: 200,
    }),
  );
  const buffer = Buffer.from(jsonl(lines));
  await page.locator('input[type="file"]').setInputFiles({ name: 'tickets.jsonl', mimeType: '', buffer });
  await page.getByRole('button', { name: 'Upload and show the cost' }).click();
  await page.getByText('Cost at most').waitFor();
}

/** WebP, which Playwright does not write by itself, of the visible part of the page. */
async function webp(page: Page): Promise<Buffer> {
  const session = await page.context().newCDPSession(page);
  const { data } = await session.send('Page.captureScreenshot', { format: 'webp', quality: 85 });
  return Buffer.from(data, 'base64');
}

await main(process.argv[2]);

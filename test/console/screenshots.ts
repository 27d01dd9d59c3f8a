// Makes the screenshots of the console for README.md and docs/console.md, of a server with plausible data.
//
//   node test/console/screenshots.ts           into docs/images
//   node test/console/screenshots.ts FOLDER    every screen, light and dark, at three widths, to look at

import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import type { Browser, Page } from 'playwright-core';
import { openConsole, settled, startBrowser } from './support/browser.ts';
import { buildConsole } from './support/build-console.ts';
import { type Showcase, startShowcase } from './support/showcase.ts';

/** Time in which batches make progress and rates are measured, in milliseconds. */
const progressMs = 25_000;

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

/** Pictures of the documentation: name, path and look. */
const published: readonly [name: string, path: string, look: Look][] = [
  ['batches', '/batches', { width: 1280, height: 720, colorScheme: 'light' }],
];

async function main(folder: string | undefined): Promise<void> {
  const browser = await startBrowser();
  if ('reason' in browser) throw new Error(browser.reason);
  buildConsole();
  const showcase = await startShowcase();
  await wait(progressMs);
  if (folder === undefined) {
    for (const [name, path, look] of published)
      await take(
        browser,
        showcase,
        path,
        look,
        join(import.meta.dirname, `../../docs/images/console-${name}.webp`),
      );
  } else {
    const paths = await screenPaths(browser, showcase);
    for (const path of paths)
      for (const look of looks) {
        const name = path.replaceAll(/\W+/g, '-').replace(/^-$/, '-overview');
        await take(
          browser,
          showcase,
          path,
          look,
          join(folder, `${name.slice(1)}-${look.width}-${look.colorScheme}.webp`),
        );
      }
  }
  await browser.close();
  await showcase.stop();
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
  if (path.startsWith('/playground')) await askSomething(page);
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

/** WebP, which Playwright does not write by itself, of the visible part of the page. */
async function webp(page: Page): Promise<Buffer> {
  const session = await page.context().newCDPSession(page);
  const { data } = await session.send('Page.captureScreenshot', { format: 'webp', quality: 85 });
  return Buffer.from(data, 'base64');
}

await main(process.argv[2]);

import type { Browser } from 'playwright-core';
import { afterAll, beforeAll, expect, it, test } from 'vitest';
import { expectAccessible, openConsole, settled, startBrowser } from './support/browser.ts';
import { buildConsole } from './support/build-console.ts';
import { type Showcase, startShowcase } from './support/showcase.ts';

const browser = await startBrowser();
if ('reason' in browser) test.skip(`all screens of the console (skipped: ${browser.reason})`, () => {});
else screenTests(browser);

function screenTests(chromium: Browser): void {
  let showcase: Showcase;
  beforeAll(async () => {
    buildConsole();
    showcase = await startShowcase({ scale: 0.02, progressMs: 30_000, days: 2 });
  });
  afterAll(async () => {
    await chromium.close();
    await showcase.stop();
  });

  it.each([
    [390, 'dark'],
    [768, 'light'],
    [1280, 'dark'],
    [2560, 'light'],
  ] as const)(
    'every screen is accessible and does not scroll sideways, %d pixels wide and %s',
    async (width, colorScheme) => {
      const { page, faults, close } = await openConsole(chromium, showcase.url, {
        key: showcase.adminKey,
        viewport: { width, height: 900 },
        colorScheme,
      });
      const links = page
        .getByRole('navigation', { name: 'Screens', includeHidden: true })
        .locator('a[href^="/console"]');
      const paths = await links.evaluateAll((all) =>
        all.map((link) => new URL((link as HTMLAnchorElement).href).pathname),
      );
      expect(paths.length).toBeGreaterThan(3);
      for (const path of [...paths, `/console/batches/${showcase.failed}/lines`, '/console/no-such-screen']) {
        await page.goto(showcase.url + path);
        await settled(page);
        await expectAccessible(page, path);
      }
      expect(faults).toEqual([]);
      await close();
    },
  );
}

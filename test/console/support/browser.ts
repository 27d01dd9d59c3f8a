import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import type Axe from 'axe-core';
import type { Browser, BrowserContextOptions, Page } from 'playwright-core';
import { expect } from 'vitest';

export { startBrowser } from './chromium.ts';

/** Page of the console that fails the test at its end if the browser reported a fault. */
export interface ConsolePage {
  page: Page;
  /** Faults that the browser reported: errors of scripts, violations of the policy, failed requests. */
  faults: string[];
  close: () => Promise<void>;
}

/** Opens a screen, signed in with a key; on the sign-in without one. */
export async function openConsole(
  browser: Browser,
  url: string,
  { key, path = '/', ...options }: { key?: string; path?: string } & BrowserContextOptions = {},
): Promise<ConsolePage> {
  const context = await browser.newContext({ viewport: { width: 1280, height: 860 }, ...options });
  const page = await context.newPage();
  const faults: string[] = [];
  page.on('pageerror', (error) => faults.push(error.message));
  page.on('console', (message) => {
    if (message.type() === 'error' || message.type() === 'warning') faults.push(message.text());
  });
  await page.goto(`${url}/console${path}`);
  if (key !== undefined) await signIn(page, key);
  return { page, faults, close: () => context.close() };
}

export async function signIn(page: Page, key: string): Promise<void> {
  await page.getByLabel('API key').fill(key);
  await page.getByRole('button', { name: 'Sign in' }).click();
  await page.getByRole('navigation', { name: 'Screens', includeHidden: true }).waitFor({ state: 'attached' });
}

/** Waits until the screen has its heading and its data. Events that follow batches stay open, so that the network is never idle. */
export async function settled(page: Page): Promise<void> {
  await page.waitForFunction(
    () =>
      document.querySelector('h1') !== null &&
      !Array.from(document.querySelectorAll('[role="status"]')).some((status) =>
        status.textContent.startsWith('Loading'),
      ),
  );
}

const axe = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');

/** Expects that axe finds nothing against WCAG 2.2 AA, and that the page does not scroll sideways. */
export async function expectAccessible(page: Page, where = page.url()): Promise<void> {
  // As an expression of the debugger, because the content policy rejects scripts from elsewhere.
  await page.evaluate(axe);
  const violations = await page.evaluate(async () => {
    const options = { runOnly: ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa', 'best-practice'] };
    const { axe: checker } = globalThis as unknown as { axe: typeof Axe };
    const found = (await checker.run(document, options)).violations;
    return found.flatMap(({ id, help, nodes }) =>
      nodes.map(({ html }) => `${id}: ${help}: ${html.slice(0, 200)}`),
    );
  });
  expect(violations, where).toEqual([]);
  const isWide = await page.evaluate(() => document.documentElement.scrollWidth > innerWidth);
  expect(isWide, `${where} scrolls sideways`).toBe(false);
}

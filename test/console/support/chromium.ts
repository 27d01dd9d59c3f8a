import { existsSync } from 'node:fs';
import { join } from 'node:path';
import type { Browser } from 'playwright-core';

/** Names of Chromium on the PATH. */
const names = ['chromium', 'chromium-browser', 'google-chrome', 'google-chrome-stable'];

/** Starts Chromium, or returns the reason why it cannot. */
export async function startBrowser(): Promise<Browser | { reason: string }> {
  const executablePath = (process.env['PATH'] ?? '')
    .split(':')
    .flatMap((folder) => names.map((name) => join(folder, name)))
    .find((path) => existsSync(path));
  if (executablePath === undefined) return { reason: 'no Chromium on the PATH: apt-get install chromium' };
  // Loaded here: its patches of the process are not for other tests.
  const { chromium } = await import('playwright-core');
  return chromium.launch({ executablePath, args: ['--no-sandbox', '--disable-dev-shm-usage'] });
}

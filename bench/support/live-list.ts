import { join } from 'node:path';
import type { Page } from 'playwright-core';
import { buildConsole } from '../../test/console/support/build-console.ts';
import { startBrowser } from '../../test/console/support/chromium.ts';
import { seedKeys } from '../../test/support/seed-keys.ts';
import { batchFile, multipart } from './batch-file.ts';
import { createDataFolder, type Offpeak, startOffpeak, upstreamEngine } from './offpeak.ts';
import { startUpstream, type Upstream } from './upstream.ts';

/** Orgs, and requests at a time. Each request takes a second, so as many lines end in each second, each of another org and batch. */
const orgs = 125;
const batchesOfOrg = 8;
export const batches = orgs * batchesOfOrg;

/** Server with batches of many orgs, and a browser that has signed in to its console as an operator. */
export interface Watched {
  page: Page;
  browser: Exclude<Awaited<ReturnType<typeof startBrowser>>, { reason: string }>;
  offpeak: Offpeak;
  upstream: Upstream;
  /** Key of the session, and one of each of the other orgs. */
  adminKey: string;
  keys: readonly string[];
  stop(): Promise<void>;
}

/** Starts a server and a browser, or returns the reason why no browser is available. */
export async function startWatched(): Promise<Watched | { reason: string }> {
  const browser = await startBrowser();
  if ('reason' in browser) return browser;
  buildConsole();
  const data = createDataFolder();
  const [adminKey = '', ...keys] = await seedKeys(join(data.path, 'data'), [
    { org: 'default', scopes: ['admin', 'batches', 'files'] },
    ...Array.from({ length: orgs }, (_, n) => ({ org: `team-${n}` })),
  ]);
  const upstream = await startUpstream();
  const offpeak = await startOffpeak(data.path, upstreamEngine(upstream.url('delay'), orgs));
  const context = await browser.newContext({ viewport: { width: 1440, height: 900 } });
  const page = await context.newPage();
  await page.goto(`${offpeak.url}/console/`);
  await page.getByLabel('API key').fill(adminKey);
  await page.getByRole('button', { name: 'Sign in' }).click();
  await page.getByRole('navigation', { name: 'Screens' }).waitFor();
  return {
    page,
    browser,
    offpeak,
    upstream,
    adminKey,
    keys,
    async stop() {
      await browser.close();
      await offpeak.stop();
      await upstream.stop();
      data.remove();
    },
  };
}

/**
 * Creates 1,000 batches of 125 orgs, and shows them all in the list. In each org the newest batch runs: the rows on the screen are
 * those that change.
 * @param lines of each batch: enough for as many seconds
 */
export async function openLiveList({ offpeak, upstream, page, keys }: Watched, lines: number): Promise<void> {
  await upstream.reset({ slots: orgs, delayMs: 1_000 });
  const input = multipart(batchFile(lines, 400));
  const files: string[] = [];
  for (const key of keys)
    files.push((await postAs<{ id: string }>(offpeak, key, '/v1/files', input.body, input.contentType)).id);
  for (let round = 0; round < batchesOfOrg; round++)
    await Promise.all(
      keys.map((key, n) => {
        const body = {
          endpoint: '/v1/chat/completions',
          completion_window: '24h',
          input_file_id: files[n],
          priority: round,
          metadata: { name: `Nightly run ${round} of team ${n}` },
        };
        return postAs(offpeak, key, '/v1/batches', JSON.stringify(body), 'application/json');
      }),
    );
  await page.goto(`${offpeak.url}/console/batches`);
  const scrollTo = (place: string) =>
    page.evaluate(
      `{ const box = document.querySelector('table[aria-rowcount]').parentElement; box.scrollTo(0, ${place}); }`,
    );
  await page.locator('table[aria-rowcount]').waitFor();
  // The batch of the jumps may be in the list, too.
  const rows = async () => Number(await page.locator('table[aria-rowcount]').getAttribute('aria-rowcount'));
  while ((await rows()) <= batches) {
    await scrollTo('box.scrollHeight');
    await page.waitForTimeout(50);
  }
  await scrollTo('0');
}

async function postAs<T>(
  { url }: Offpeak,
  key: string,
  path: string,
  body: string | Buffer,
  type: string,
): Promise<T> {
  const headers = { authorization: `Bearer ${key}`, 'content-type': type };
  const reply = await fetch(url + path, { method: 'POST', headers, body: body as string });
  if (!reply.ok) throw new Error(`${path} answered ${reply.status}: ${await reply.text()}`);
  return (await reply.json()) as T;
}

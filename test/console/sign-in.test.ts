import { afterAll, beforeAll, describe, expect, it, test } from 'vitest';
import { type RunningApp, startApp } from '../support/app.ts';
import { expectAccessible, openConsole, signIn, startBrowser } from './support/browser.ts';
import { buildConsole } from './support/build-console.ts';

const browser = await startBrowser();
if ('reason' in browser) test.skip(`signing in to the console (skipped: ${browser.reason})`, () => {});
else signInTests(browser);

function signInTests(chromium: Exclude<typeof browser, { reason: string }>): void {
  let app: RunningApp;
  beforeAll(async () => {
    buildConsole();
    app = await startApp();
  });
  afterAll(async () => {
    await chromium.close();
    await app.stop();
  });

  describe('the sign-in', () => {
    it.each([
      [390, 'light'],
      [1280, 'dark'],
    ] as const)('is accessible, %d pixels wide and %s', async (width, colorScheme) => {
      const { page, faults, close } = await openConsole(chromium, app.url, {
        viewport: { width, height: 800 },
        colorScheme,
      });
      await page.getByRole('heading', { name: 'Sign in to Offpeak' }).waitFor();
      await expectAccessible(page);
      expect(faults).toEqual([]);
      await close();
    });

    it('explains a wrong key, and keeps the focus on the field', async () => {
      const { page, close } = await openConsole(chromium, app.url);
      await page.getByLabel('API key').fill('sk-offpeak-wrong');
      await page.keyboard.press('Enter');
      await page.getByRole('alert').getByText('Unknown API key.').waitFor();
      expect(await page.evaluate(() => document.activeElement?.tagName)).toBe('INPUT');
      await close();
    });

    it('shows the address that was opened, and no key is kept in the browser', async () => {
      const { page, faults, close } = await openConsole(chromium, app.url, { key: app.key, path: '/?a=1' });
      await page.getByRole('heading', { name: 'Overview' }).waitFor();
      expect(page.url()).toBe(`${app.url}/console/?a=1`);
      await page.reload();
      await page.getByRole('heading', { name: 'Overview' }).waitFor();
      const kept = await page.evaluate(async () =>
        JSON.stringify([
          Object.keys(localStorage),
          Object.keys(sessionStorage).filter((name) => !name.startsWith('tsr-scroll-restoration')),
          document.cookie,
          location.href,
          await indexedDB.databases(),
          await caches.keys(),
          document.documentElement.outerHTML,
        ]),
      );
      expect(kept).not.toContain(app.key);
      expect(kept).toContain('[[],[],"",');
      const [cookie, ...others] = await page.context().cookies();
      expect(others).toEqual([]);
      expect(cookie).toMatchObject({ httpOnly: true, sameSite: 'Strict', path: '/console' });
      expect(cookie!.value).not.toContain(app.key);
      expect(faults).toEqual([]);
      await close();
    });

    it('comes back after the sign-out, and shows nothing of the session', async () => {
      const { page, close } = await openConsole(chromium, app.url, { key: app.key });
      await page.getByRole('button', { name: 'Sign out' }).click();
      await page.getByText('You are signed out.').waitFor();
      expect(await page.context().cookies()).toEqual([]);
      await page.goBack().catch(() => {});
      await page.goto(`${app.url}/console/`);
      await page.getByRole('heading', { name: 'Sign in to Offpeak' }).waitFor();
      await close();
    });

    it('takes the place of a screen whose session has ended, and the screen comes back after it', async () => {
      const { page, close } = await openConsole(chromium, app.url, { key: app.key, path: '/?a=1' });
      await page.getByRole('heading', { name: 'Overview' }).waitFor();
      await page.context().clearCookies();
      await page.getByText('Your session has ended.').waitFor();
      await signIn(page, app.key);
      await page.getByRole('heading', { name: 'Overview' }).waitFor();
      expect(page.url()).toBe(`${app.url}/console/?a=1`);
      await close();
    });
  });

  it('says that the server does not answer, keeps what is shown, and goes on by itself', async () => {
    const { page, close } = await openConsole(chromium, app.url, { key: app.key });
    await page.getByText('No batch is open.').waitFor();
    await page.route('**/console/api/**', (route) => route.abort('connectionrefused'));
    await page.getByText('The server does not answer.').waitFor();
    expect(await page.getByText('No batch is open.').isVisible()).toBe(true);
    await page.unroute('**/console/api/**');
    await page.getByText('The server does not answer.').waitFor({ state: 'hidden' });
    await close();
  });

  it.each([
    [
      'a reverse proxy answers in its place',
      502,
      'text/html',
      '<h1>Bad Gateway</h1>',
      'The server does not answer.',
    ],
    [
      'it refuses requests for a while',
      429,
      'application/json',
      '{"error": {"code": "rate_limit_exceeded", "message": "Too many requests."}}',
      'Too many requests. What you see may be out of date',
    ],
  ])('says so where %s, and keeps what is shown', async (_, status, contentType, body, text) => {
    const { page, close } = await openConsole(chromium, app.url, { key: app.key });
    await page.getByText('No batch is open.').waitFor();
    const away = /\/console\/(api|session)/;
    await page.route(away, (route) => route.fulfill({ status, contentType, body }));
    await page.getByText(text).waitFor();
    expect(await page.getByText('No batch is open.').isVisible()).toBe(true);
    await page.unroute(away);
    await page.getByText(text).waitFor({ state: 'hidden' });
    await close();
  });

  it('loads a screen that was opened without a connection, once the server answers', async () => {
    const { page, close } = await openConsole(chromium, app.url, { key: app.key });
    await page.getByText('No batch is open.').waitFor();
    const away = /\/console\/(api|session)/;
    await page.route(away, (route) => route.abort('connectionrefused'));
    await page.getByRole('link', { name: 'Usage' }).click();
    await page.getByText('The usage could not be loaded.').waitFor();
    await page.unroute(away);
    await page.getByText('Nothing was used in these days.').waitFor();
    await page.getByText('The server does not answer.').waitFor({ state: 'hidden' });
    await close();
  });

  it('leads from an unknown address to the overview', async () => {
    const { page, faults, close } = await openConsole(chromium, app.url, { key: app.key, path: '/nothing' });
    await page.getByRole('link', { name: 'Go to the overview' }).click();
    await page.getByRole('heading', { name: 'Overview' }).waitFor();
    expect(faults).toEqual([]);
    await close();
  });
}

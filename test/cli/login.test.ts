import { mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { createFakeServer, refusal } from './support/fake-server.ts';
import type { FakeServer } from './support/fake-server.ts';
import { runCli } from './support/run-cli.ts';

let home: string;
let server: FakeServer;

beforeEach(() => {
  home = mkdtempSync(join(tmpdir(), 'offpeak-home-'));
  server = createFakeServer();
});

afterEach(() => rmSync(home, { recursive: true, force: true }));

/** Environment with only a home folder. */
const run = (argv: string[], more: { stdin?: string; env?: Record<string, string> } = {}) =>
  runCli(argv, {
    fetch: server.fetch,
    stdin: more.stdin ?? '',
    env: { HOME: home, OFFPEAK_API_KEY: '', ...more.env },
  });

const profile = () => join(home, '.config', 'offpeak', 'profile.json');
const keysSent = () => server.requests.map(({ headers }) => headers.get('authorization'));

it('stores a server and a working key, readable only by this user', async () => {
  const { code, out } = await run(['login', '--url', 'http://far.test'], { stdin: 'sk-mine\n' });
  expect([code, out]).toEqual([0, expect.stringContaining('Logged in at http://far.test')]);
  expect(statSync(profile()).mode & 0o777).toBe(0o600);
  await run(['batch', 'list']);
  expect(server.requests.at(-1)?.headers.get('authorization')).toBe('Bearer sk-mine');

  await run(['batch', 'list'], { env: { OFFPEAK_API_KEY: 'sk-other' } });
  await run(['batch', 'list', '--url', 'http://elsewhere.test']);
  await run(['batch', 'list', '--url', 'http://far.test/']);
  expect(keysSent().slice(-3)).toEqual(['Bearer sk-other', null, 'Bearer sk-mine']);

  expect((await run(['logout'])).out).toBe('Logged out.\n');
  expect((await run(['logout'])).out).toContain('Not logged in');
});

it('stores nothing that is rejected or not a key', async () => {
  expect((await run(['login'], { stdin: 'two words' })).err).toContain('Invalid key');
  server.behavior.before = () => refusal(401, 'invalid_api_key', 'No.');
  expect((await run(['login'], { stdin: 'sk-wrong' })).err).toContain('invalid_api_key');
  expect(() => statSync(profile())).toThrow('ENOENT');
});

it('restricts the permissions of a readable profile, and reports an unreadable one', async () => {
  await run(['login'], { stdin: 'sk-mine' });
  writeFileSync(profile(), '{', { mode: 0o644 });
  expect((await run(['batch', 'list'])).err).toContain('is not a profile of offpeak login');
  expect((await run(['batch', 'list'], { env: { OFFPEAK_API_KEY: 'sk-other' } })).code).toBe(0);
  await run(['login'], { stdin: 'sk-new' });
  expect(JSON.parse(readFileSync(profile(), 'utf8'))).toMatchObject({ key: 'sk-new' });
  expect(statSync(profile()).mode & 0o777).toBe(0o600);
});

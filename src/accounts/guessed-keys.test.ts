import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeEach, expect, it } from 'vitest';
import { createAccountStore, type AccountStore } from '../../test/server/support/account-store.ts';
import { createManualClock } from '../../test/support/manual-clock.ts';
import { createSeededRandom } from '../../test/support/seeded-random.ts';
import { createIds } from '../base/ids.ts';
import { silent } from '../base/log.ts';
import type { Accounts } from './accounts.ts';
import { createAccounts } from './create-accounts.ts';
import { hashKey, makeKey } from './keys.ts';
import { createScanGate } from '../store/scan-gate.ts';

// Timing: a guess that shares its beginning with a real key must take the same way as any other.

const configured = 'environment-key-0123456789abcdef0123';
let store: AccountStore;
let accounts: Accounts;

beforeEach(async () => {
  const clock = createManualClock();
  const random = createSeededRandom(2);
  store = createAccountStore();
  const ids = createIds(clock, random);
  accounts = createAccounts({
    scans: createScanGate(),
    store,
    clock,
    random,
    ids,
    log: silent,
    config: { apiKey: configured },
  });
  await accounts.start();
  store.lookups.length = 0;
});

const attempt = (key: string) =>
  accounts.authenticate({ authorization: [`Bearer ${key}`], xApiKey: [] }).then(
    () => 'accepted',
    (error: Error) => error.message,
  );

it('C02: a guess is compared by its hash alone, whatever it shares with a configured key', async () => {
  for (let shared = 0; shared < configured.length; shared++) {
    const guess = configured.slice(0, shared) + configured.slice(shared).replaceAll(/./g, '~');
    expect(await attempt(guess)).toBe('Unknown API key.');
  }
  expect(store.lookups).toEqual([]);
  expect(await attempt(configured)).toBe('accepted');
  expect(store.lookups).toEqual([hashKey(configured)]);
});

it('C02: the database finds keys by an index of hashes, whose bits a client cannot choose one by one', async () => {
  const random = createSeededRandom(3);
  const guesses = Array.from({ length: 200 }, () => makeKey(random));
  for (const guess of guesses) expect(await attempt(guess)).toBe('Unknown API key.');
  expect(store.lookups).toEqual(guesses.map(hashKey));
});

it('C02: no code that sees the key of a request compares it with another text', () => {
  const compares =
    /\b(token|secret|key|password)\b\s*[!=]==(?!\s*(undefined|null|''))|[!=]==\s*(token|secret|key|password)\b/i;
  const folder = join(import.meta.dirname, '..');
  const files = ['accounts/authenticate.ts', 'accounts/key-cache.ts', 'accounts/keys.ts'].concat(
    readdirSync(join(folder, 'server/plugins')).map((name) => `server/plugins/${name}`),
  );
  const wrong = files.flatMap((file) =>
    readFileSync(join(folder, file), 'utf8')
      .split('\n')
      .filter((line) => compares.test(line))
      .map((line) => `${file}: ${line.trim()}`),
  );
  expect(wrong).toEqual([]);
  expect('if (token === known.secret)').toMatch(compares);
});

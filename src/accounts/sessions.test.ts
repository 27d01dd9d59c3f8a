import { beforeEach, describe, expect, it } from 'vitest';
import { createAccountStore, type AccountStore } from '../../test/server/support/account-store.ts';
import { createManualClock, type ManualClock } from '../../test/support/manual-clock.ts';
import { createIds } from '../base/ids.ts';
import { silent } from '../base/log.ts';
import { systemRandom } from '../base/system.ts';
import { serverActor } from '../core/audit.ts';
import { createScanGate } from '../store/scan-gate.ts';
import type { Accounts } from './accounts.ts';
import { createAccounts } from './create-accounts.ts';
import { hashKey, makeKey } from './keys.ts';
import { sessionMs } from './sessions.ts';

const host = 'console.test:8080';
const configured = 'configured-key-0123456789abcdef0123';

let clock: ManualClock;
let store: AccountStore;
let accounts: Accounts;

/** Another process on the same database. */
async function startProcess(config: { apiKey?: string } = {}): Promise<Accounts> {
  const ids = createIds(clock, systemRandom);
  const process = createAccounts({
    scans: createScanGate(),
    store,
    clock,
    random: systemRandom,
    ids,
    log: silent,
    config,
  });
  await process.start();
  await process.makeFirstKeys();
  return process;
}

async function createKey() {
  const [org] = await accounts.orgs.list();
  return accounts.keys.create(serverActor, { orgId: org!.id, name: 'console', scopes: ['batches'] });
}

const ended = { code: 'session_ended', status: 401 };

beforeEach(async () => {
  clock = createManualClock();
  store = createAccountStore();
  accounts = await startProcess();
});

describe('a session', () => {
  it('has the rights of its key on every process, for 12 hours', async () => {
    const { apiKey, key } = await createKey();
    const { token, caller, expiresAt } = await accounts.sessions.begin(key, host);
    expect(caller).toMatchObject({ keyId: apiKey.id, keyName: 'console', scopes: ['batches'] });
    expect(expiresAt).toBe(clock.now() + 12 * 3_600_000);
    const other = await startProcess();
    for (const process of [accounts, other])
      expect(await process.sessions.find(token, host)).toEqual({ caller, expiresAt });
    await clock.advance(sessionMs - 1);
    expect(await other.sessions.find(token, host)).toMatchObject({ expiresAt });
    await clock.advance(1);
    for (const process of [accounts, other])
      await expect(process.sessions.find(token, host)).rejects.toMatchObject(ended);
  });

  it('C01: is stored as the hash of its token alone', async () => {
    const { key } = await createKey();
    const { token } = await accounts.sessions.begin(key, host);
    expect(token).toMatch(/^[\w-]{43}$/);
    expect(store.dump()).toContain(hashKey(token));
    expect(store.dump()).not.toContain(token);
    expect(store.dump()).not.toContain(key);
  });

  it('has a new token each time', async () => {
    const { key } = await createKey();
    const tokens = await Promise.all(
      [1, 2, 3].map(async () => (await accounts.sessions.begin(key, host)).token),
    );
    expect(new Set(tokens).size).toBe(3);
  });

  it('does not begin with an unknown, a revoked or a disabled key', async () => {
    const { apiKey, key } = await createKey();
    await expect(accounts.sessions.begin(makeKey(systemRandom), host)).rejects.toMatchObject({
      code: 'invalid_api_key',
    });
    await accounts.keys.update(serverActor, apiKey.id, { disabled: true });
    await expect(accounts.sessions.begin(key, host)).rejects.toMatchObject({ code: 'invalid_api_key' });
    await accounts.keys.update(serverActor, apiKey.id, { disabled: false });
    await accounts.keys.revoke(serverActor, apiKey.id);
    await expect(accounts.sessions.begin(key, host)).rejects.toMatchObject({ code: 'invalid_api_key' });
  });

  it.each([
    ['revoked', (id: string) => accounts.keys.revoke(serverActor, id)],
    ['disabled', (id: string) => accounts.keys.update(serverActor, id, { disabled: true })],
    ['expired', (id: string) => accounts.keys.update(serverActor, id, { expiresAt: clock.now() + 1 })],
  ])(
    'C03: ends at once where its key is %s, and within a second on other processes',
    async (_how, change) => {
      const { apiKey, key } = await createKey();
      const { token } = await accounts.sessions.begin(key, host);
      const other = await startProcess();
      await other.sessions.find(token, host);
      await change(apiKey.id);
      await clock.advance(1);
      await expect(accounts.sessions.find(token, host)).rejects.toMatchObject(ended);
      await clock.advance(999);
      await expect(other.sessions.find(token, host)).rejects.toMatchObject(ended);
    },
  );

  it('has the present scopes of its key', async () => {
    const { apiKey, key } = await createKey();
    const { token } = await accounts.sessions.begin(key, host);
    await accounts.keys.update(serverActor, apiKey.id, { scopes: ['usage'] });
    expect((await accounts.sessions.find(token, host)).caller.scopes).toEqual(['usage']);
  });

  it('ends with a sign-out, within a second on other processes', async () => {
    const { key } = await createKey();
    const { token } = await accounts.sessions.begin(key, host);
    const other = await startProcess();
    await other.sessions.find(token, host);
    await accounts.sessions.end(token);
    await expect(accounts.sessions.find(token, host)).rejects.toMatchObject(ended);
    await clock.advance(1_000);
    await expect(other.sessions.find(token, host)).rejects.toMatchObject(ended);
  });

  it('is valid only for the host where it began', async () => {
    const { key } = await createKey();
    const { token } = await accounts.sessions.begin(key, host);
    await expect(accounts.sessions.find(token, 'evil.test:8080')).rejects.toMatchObject(ended);
  });

  it('of a configured key ends when the configuration no longer has the key', async () => {
    const before = await startProcess({ apiKey: configured });
    const { token } = await before.sessions.begin(configured, host);
    expect(await before.sessions.find(token, host)).toBeDefined();
    const after = await startProcess();
    await expect(after.sessions.find(token, host)).rejects.toMatchObject(ended);
  });

  it.each([undefined, '', 'x', 'a'.repeat(43), `${'a'.repeat(42)}!`, 'a'.repeat(10_000)])(
    'is not found by %j, and only possible tokens cost a query',
    async (token) => {
      const before = store.lookups.length;
      await expect(accounts.sessions.find(token, host)).rejects.toMatchObject(ended);
      expect(store.lookups.length - before).toBe(token === 'a'.repeat(43) ? 1 : 0);
    },
  );

  it('costs a query a second, however often it is used', async () => {
    const { key } = await createKey();
    const { token } = await accounts.sessions.begin(key, host);
    const before = store.lookups.filter((hash) => hash === hashKey(token)).length;
    for (let use = 0; use < 50; use++) await accounts.sessions.find(token, host);
    expect(store.lookups.filter((hash) => hash === hashKey(token)).length - before).toBe(1);
  });
});

import { beforeEach, describe, expect, it } from 'vitest';
import { serverActor } from '../core/audit.ts';
import { createAccountStore, type AccountStore } from '../../test/server/support/account-store.ts';
import { createManualClock, type ManualClock } from '../../test/support/manual-clock.ts';
import { createIds } from '../base/ids.ts';
import { type Log, silent } from '../base/log.ts';
import { systemRandom } from '../base/system.ts';
import type { ApiError } from '../core/errors.ts';
import { defaultScopes, orgDefaults } from '../core/org.ts';
import type { Accounts } from './accounts.ts';
import { createAccounts } from './create-accounts.ts';
import { hashKey, makeKey } from './keys.ts';
import { createScanGate } from '../store/scan-gate.ts';

let clock: ManualClock;
let store: AccountStore;
const secret = 'environment-key-0123456789abcdef0123';
const adminSecret = 'environment-admin-0123456789abcdef01';

function open(config: { apiKey?: string; adminKey?: string } = {}, log: Log = silent): Accounts {
  const ids = createIds(clock, systemRandom);
  return createAccounts({ scans: createScanGate(), store, clock, random: systemRandom, ids, log, config });
}

async function started(config = {}, log: Log = silent): Promise<Accounts> {
  const accounts = open(config, log);
  await accounts.start();
  await accounts.makeFirstKeys();
  return accounts;
}

const bearer = (key: string) => ({ authorization: [`Bearer ${key}`], xApiKey: [] });

beforeEach(() => {
  clock = createManualClock();
  store = createAccountStore();
});

describe('first start', () => {
  it('C19: creates the org default, a key with every scope but admin, and an admin key, shown once', async () => {
    const accounts = await started();
    const { key, adminKey } = accounts.firstKeys!;
    const [org] = await accounts.orgs.list();
    expect(org).toMatchObject({ name: 'default', createdAt: clock.now() });
    expect(await accounts.authenticate(bearer(key!))).toMatchObject({
      orgId: org!.id,
      scopes: defaultScopes,
      models: null,
    });
    expect(await accounts.authenticate(bearer(adminKey!))).toMatchObject({ scopes: ['admin'] });
    expect((await started()).firstKeys).toBeNull();
  });

  it('C01: stores no key, only its hash', async () => {
    const { firstKeys } = await started();
    for (const key of Object.values(firstKeys!)) {
      expect(store.dump()).not.toContain(key);
      expect(store.dump()).toContain(hashKey(key!));
    }
  });

  it('continues a first start that was killed', async () => {
    await store.orgs.insert({ id: 'org_1', name: 'default', createdAt: 1, ...orgDefaults });
    const { firstKeys } = await started();
    expect(firstKeys).toEqual({ key: expect.any(String), adminKey: expect.any(String) });
    expect(await store.orgs.list()).toHaveLength(1);
  });

  it('creates no new key when all were revoked', async () => {
    const accounts = await started();
    for (const key of await accounts.keys.list()) await accounts.keys.revoke(serverActor, key.id);
    expect((await started()).firstKeys).toBeNull();
  });
});

describe('keys given by environment', () => {
  it('are used instead of generated ones, at every start, and need no checksum', async () => {
    for (const start of [1, 2]) {
      const accounts = await started({ apiKey: secret, adminKey: adminSecret });
      expect(accounts.firstKeys, `start ${start}`).toBeNull();
      expect(await accounts.authenticate(bearer(secret))).toMatchObject({ scopes: defaultScopes });
      expect(await accounts.authenticate(bearer(adminSecret))).toMatchObject({ scopes: ['admin'] });
      expect(await accounts.keys.list()).toHaveLength(2);
    }
  });

  it('replace one kind, and the other is generated', async () => {
    const { firstKeys } = await started({ apiKey: secret });
    expect(firstKeys).toEqual({ key: null, adminKey: expect.stringMatching(/^sk-offpeak-/) });
  });

  it('stop working once the environment lacks them, and then keys are generated', async () => {
    await started({ apiKey: secret, adminKey: adminSecret });
    const later = await started();
    await expect(later.authenticate(bearer(secret))).rejects.toMatchObject({ status: 401 });
    expect(later.firstKeys).toEqual({ key: expect.any(String), adminKey: expect.any(String) });
  });

  it.each([
    [
      'is disabled',
      { disabled: true },
      /is disabled.*"offpeak keys enable key_\w+" with another admin key, or set/,
    ],
    ['has expired', { expiresAt: 1_000 }, /has expired.*"offpeak keys update key_\w+ --expires never" with/],
  ])('are refused where the key %s, and the log says how to recover', async (_state, end, warning) => {
    const accounts = await started({ adminKey: adminSecret });
    const [key] = (await accounts.keys.list()).filter(({ scopes }) => scopes.includes('admin'));
    const changes = 'expiresAt' in end ? { expiresAt: clock.now() + 1_000 } : end;
    await accounts.keys.update(serverActor, key!.id, changes);
    await clock.advance(1_000);
    const warnings: string[] = [];
    const again = await started(
      { adminKey: adminSecret },
      { ...silent, warn: (_, message) => void warnings.push(message) },
    );
    await expect(again.authenticate(bearer(adminSecret))).rejects.toMatchObject({ status: 401 });
    expect(warnings).toEqual([expect.stringMatching(warning)]);
  });

  it('stay revoked, and the log says so', async () => {
    const accounts = await started({ apiKey: secret });
    const [key] = (await accounts.keys.list()).filter((candidate) => candidate.name === 'first key');
    await accounts.keys.revoke(serverActor, key!.id);
    const warnings: string[] = [];
    const again = await started(
      { apiKey: secret },
      { ...silent, warn: (_, message) => void warnings.push(message) },
    );
    await expect(again.authenticate(bearer(secret))).rejects.toMatchObject({ status: 401 });
    expect(warnings.join()).toMatch(/revoked/);
    expect(warnings.join()).not.toContain(secret);
  });

  it.each([
    [{ apiKey: 'x'.repeat(31) }, /32/],
    [{ adminKey: '' }, /32/],
    [{ apiKey: `${'x'.repeat(40)} y` }, /printable/],
    [{ apiKey: secret, adminKey: secret }, /same/],
  ])('are rejected when invalid: %j', (config, reason) => {
    expect(() => open(config)).toThrow(reason);
  });
});

describe('authenticate', () => {
  let accounts: Accounts;
  let key: string;
  beforeEach(async () => {
    accounts = await started();
    key = accounts.firstKeys!.key!;
    store.lookups.length = 0;
  });

  it('accepts Bearer in any case, with any number of spaces', async () => {
    for (const header of [`Bearer ${key}`, `bearer ${key}`, `BEARER   ${key} `])
      expect(await accounts.authenticate({ authorization: [header], xApiKey: [] })).toMatchObject({
        models: null,
      });
  });

  it('lets Authorization win over x-api-key', async () => {
    expect(await accounts.authenticate({ ...bearer(key), xApiKey: ['whatever'] })).toBeTruthy();
    await expect(accounts.authenticate({ ...bearer('nope'), xApiKey: [key] })).rejects.toMatchObject({
      status: 401,
    });
  });

  it('answers 401 to x-api-key alone and names Authorization', async () => {
    await expect(accounts.authenticate({ authorization: [], xApiKey: [key] })).rejects.toMatchObject({
      status: 401,
      code: 'invalid_api_key',
      message: expect.stringContaining('Authorization: Bearer'),
    });
  });

  it('answers 400 to two Authorization headers, even equal ones', async () => {
    const twice = { authorization: [`Bearer ${key}`, `Bearer ${key}`], xApiKey: [] };
    await expect(accounts.authenticate(twice)).rejects.toMatchObject({
      status: 400,
      code: 'duplicate_authorization',
    });
  });

  it.each([
    '',
    'Bearer',
    'Bearer ',
    'Basic abc',
    'Bearer a b',
    'sk-offpeak-x',
    'Bearer sk-offpeak-x',
    `Bearer ${'x'.repeat(9000)}`,
  ])('answers 401 to %j without asking the database', async (header) => {
    await expect(accounts.authenticate({ authorization: [header], xApiKey: [] })).rejects.toMatchObject({
      status: 401,
    });
    expect(store.lookups).toEqual([]);
  });

  it('answers 401 to a well-formed unknown key, and never repeats it in the message', async () => {
    const stranger = makeKey(systemRandom);
    const error = await accounts.authenticate(bearer(stranger)).catch((thrown: Error) => thrown);
    expect(error).toMatchObject({ status: 401 });
    expect((error as Error).message).not.toContain(stranger);
  });

  it('queries the database once a second, and once for concurrent requests', async () => {
    await Promise.all(Array.from({ length: 50 }, () => accounts.authenticate(bearer(key))));
    expect(store.lookups).toHaveLength(1);
    await clock.advance(999);
    await accounts.authenticate(bearer(key));
    expect(store.lookups).toHaveLength(1);
    await clock.advance(1);
    await accounts.authenticate(bearer(key));
    expect(store.lookups).toHaveLength(2);
  });

  it('rejects a key revoked by another process within a second, and one revoked here at once', async () => {
    const { apiKey, key: other } = await accounts.keys.create(serverActor, {
      orgId: (await accounts.orgs.list())[0]!.id,
    });
    await accounts.authenticate(bearer(key));
    await accounts.authenticate(bearer(other));
    const mine = (await accounts.keys.list())[0]!;
    await store.keys.revoke(mine.id, clock.now());
    await clock.advance(1000);
    await expect(accounts.authenticate(bearer(key))).rejects.toMatchObject({ status: 401 });
    await accounts.authenticate(bearer(other));
    await accounts.keys.revoke(serverActor, apiKey.id);
    await expect(accounts.authenticate(bearer(other))).rejects.toMatchObject({ status: 401 });
  });

  it('knows within a second what another process changed: a disabled key or org, and scopes', async () => {
    const { id, orgId } = (await accounts.keys.list())[0]!;
    const rejection = async () => {
      await clock.advance(1_000);
      return accounts.authenticate(bearer(key)).then(
        ({ scopes }) => scopes,
        (error: ApiError) => error.code,
      );
    };
    await accounts.authenticate(bearer(key));
    await store.keys.update(id, { disabled: true }, 0);
    expect(await rejection()).toBe('invalid_api_key');
    await store.keys.update(id, { disabled: false, scopes: ['files'] }, 0);
    expect(await rejection()).toEqual(['files']);
    await store.orgs.update(orgId, { disabled: true }, 0);
    expect(await rejection()).toBe('org_disabled');
    await store.keys.update(id, { scopes: ['admin:read'] }, 0);
    expect(await rejection()).toBe('org_disabled');
    await store.keys.update(id, { scopes: ['files', 'admin'] }, 0);
    expect(await rejection()).toEqual(['admin']);
    await store.orgs.update(orgId, { disabled: false }, 0);
    expect(await rejection()).toEqual(['files', 'admin']);
  });

  it('rejects a key from the millisecond of its expiry', async () => {
    const orgId = (await accounts.orgs.list())[0]!.id;
    const { key: short } = await accounts.keys.create(serverActor, { orgId, expiresAt: clock.now() + 500 });
    await clock.advance(499);
    await accounts.authenticate(bearer(short));
    await clock.advance(1);
    await expect(accounts.authenticate(bearer(short))).rejects.toMatchObject({ status: 401 });
  });

  it('queries again after the database failed', async () => {
    const real = store.keys;
    store.keys = { ...real, findByHashes: () => Promise.reject(new Error('away')) };
    await expect(accounts.authenticate(bearer(key))).rejects.toThrow('away');
    store.keys = real;
    expect(await accounts.authenticate(bearer(key))).toBeTruthy();
  });

  it('writes last uses once a minute and at the end, the newest of each key', async () => {
    await accounts.authenticate(bearer(key));
    await clock.advance(59_999);
    await accounts.authenticate(bearer(key));
    const at = clock.now();
    expect(store.touched).toEqual([]);
    await clock.advance(1);
    await accounts.authenticate(bearer(key));
    await accounts.stop();
    const { keyId } = await accounts.authenticate(bearer(key));
    expect(store.touched).toEqual([[{ id: keyId, at }], [{ id: keyId, at: at + 1 }]]);
  });
});

describe('keys and orgs', () => {
  it('answer 403 to a scope that the key lacks', async () => {
    const accounts = await started();
    const caller = await accounts.authenticate(bearer(accounts.firstKeys!.key!));
    accounts.require(caller, 'files');
    accounts.require(caller, 'files:read');
    const viewer = { ...caller, scopes: ['files:read', 'admin:read'] as const };
    accounts.require(viewer, 'files:read');
    accounts.require(viewer, 'usage');
    for (const scope of ['files', 'batches:read', 'admin'] as const)
      expect(() => accounts.require(viewer, scope)).toThrow(`lacks the scope "${scope}"`);
    expect(() => accounts.require(caller, 'admin')).toThrow(
      expect.objectContaining({ status: 403, code: 'permission_denied' }),
    );
  });

  it('create keys with the requested scopes, models and expiry', async () => {
    const accounts = await started();
    const org = await accounts.orgs.create(serverActor, { name: 'second' });
    const { apiKey, key } = await accounts.keys.create(serverActor, {
      orgId: org.id,
      name: 'ci',
      scopes: ['files', 'files'],
      models: ['tiny'],
      expiresAt: clock.now() + 1000,
    });
    expect(apiKey).toMatchObject({
      orgId: org.id,
      name: 'ci',
      scopes: ['files'],
      models: ['tiny'],
      revokedAt: null,
    });
    expect(await accounts.authenticate(bearer(key))).toMatchObject({
      orgId: org.id,
      keyId: apiKey.id,
      scopes: ['files'],
      models: ['tiny'],
    });
    expect(await accounts.keys.list(org.id)).toEqual([apiKey]);
  });

  it('answer 422 to an unknown org or a past expiry, and 404 to an unknown key', async () => {
    const accounts = await started();
    const orgId = (await accounts.orgs.list())[0]!.id;
    await expect(accounts.keys.create(serverActor, { orgId: 'org_none' })).rejects.toMatchObject({
      status: 422,
      param: 'org_id',
    });
    await expect(accounts.keys.create(serverActor, { orgId, expiresAt: clock.now() })).rejects.toMatchObject({
      status: 422,
      param: 'expires_at',
    });
    await expect(accounts.keys.revoke(serverActor, 'key_none')).rejects.toMatchObject({ status: 404 });
  });
});

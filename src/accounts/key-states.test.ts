import { beforeEach, describe, expect, it } from 'vitest';
import { createManualClock } from '../../test/support/manual-clock.ts';
import { createScanGate } from '../store/scan-gate.ts';
import { createMemoryStore } from '../../test/support/memory-store.ts';
import { createIds } from '../base/ids.ts';
import { silent } from '../base/log.ts';
import { systemRandom } from '../base/system.ts';
import { type Actor, serverActor } from '../core/audit.ts';
import type { KeyChanges } from '../core/org.ts';
import type { Accounts } from './accounts.ts';
import { createAccounts } from './create-accounts.ts';

const hour = 3_600_000;
let clock: ReturnType<typeof createManualClock>;
let accounts: Accounts;
let orgId: string;

beforeEach(async () => {
  clock = createManualClock();
  const store = createMemoryStore({ clock });
  await store.start();
  const ids = createIds(clock, systemRandom);
  const scans = createScanGate();
  accounts = createAccounts({ store, clock, random: systemRandom, ids, log: silent, scans, config: {} });
  orgId = (await accounts.orgs.create(serverActor, { name: 'one' })).id;
});

const make = async (settings: KeyChanges = {}) =>
  (await accounts.keys.create(serverActor, { ...settings, orgId })).apiKey.id;
const actorOf = (keyId: string): Actor => ({ ...serverActor, keyId });
const isoNow = () => new Date(clock.now()).toISOString().replace(/\.\d+/, '');

describe('the state of a key', () => {
  it('that is revoked refuses every change except that of its budget, and says so', async () => {
    const id = await make();
    await accounts.keys.revoke(serverActor, id);
    const message = `The key ${id} was revoked at ${isoNow()}. Create a new key. Only its budget can change, for its unfinished batches.`;
    const budget = { amount: 5, period: 'total' } as const;
    for (const changes of [{ disabled: false }, { disabled: true }, { name: 'x' }, { name: 'x', budget }])
      await expect(accounts.keys.update(serverActor, id, changes)).rejects.toMatchObject({
        code: 'key_not_active',
        status: 409,
        message,
      });
    expect(await accounts.keys.update(serverActor, id, { budget })).toMatchObject({ budget });
  });

  it('that is replaced names its successor, and when it ends', async () => {
    const id = await make();
    const { apiKey, replaced } = await accounts.keys.rotate(serverActor, id, hour);
    expect(replaced).toMatchObject({ id, replacedBy: apiKey.id, expiresAt: clock.now() + hour });
    expect(await accounts.keys.get(id)).toEqual(replaced);
    const end = new Date(clock.now() + hour).toISOString().replace(/\.\d+/, '');
    const refusal = (text: string) => ({ code: 'key_replaced', status: 409, message: text });
    await expect(accounts.keys.rotate(serverActor, id, hour)).rejects.toMatchObject(
      refusal(`The key ${id} was replaced by ${apiKey.id}, and works until ${end}. Rotate ${apiKey.id}.`),
    );
    await accounts.keys.revoke(serverActor, id);
    await expect(accounts.keys.rotate(serverActor, id, hour)).rejects.toMatchObject(
      refusal(`The key ${id} was replaced by ${apiKey.id}. Rotate ${apiKey.id}.`),
    );
    await expect(accounts.keys.update(serverActor, id, { name: 'x' })).rejects.toThrow(
      `and ${apiKey.id} replaced it. Change ${apiKey.id} instead.`,
    );
    // The successor has the expiry of the settings, not the end of the overlap.
    expect((await accounts.keys.rotate(serverActor, apiKey.id, 0)).apiKey.expiresAt).toBeNull();
  });

  it('that is revoked, disabled or expired refuses a rotation, with what to do', async () => {
    const [revoked, disabled, expired] = [
      await make(),
      await make(),
      await make({ expiresAt: clock.now() + hour }),
    ];
    await accounts.keys.revoke(serverActor, revoked);
    await accounts.keys.update(serverActor, disabled, { disabled: true });
    const at = isoNow();
    await clock.advance(hour);
    for (const [id, text] of [
      [revoked, `was revoked at ${at}. Create a new key.`],
      [disabled, `is disabled since ${at}. Enable it first.`],
      [expired, `expired at ${isoNow()}. Give it a later expires_at first, or create a new key.`],
    ])
      await expect(accounts.keys.rotate(serverActor, id!, 0)).rejects.toMatchObject({
        code: 'key_not_active',
        message: `The key ${id} ${text}`,
      });
  });

  it.each([
    ['disabled', { disabled: true }, { disabled: false }],
    ['expired', {}, { expiresAt: null }],
  ])('that was %s and works again does not bring its sessions back', async (_state, end, back) => {
    const host = 'console.test';
    const create = () => accounts.keys.create(serverActor, { orgId, expiresAt: clock.now() + hour });
    const [{ apiKey, key }, other] = [await create(), await create()];
    await accounts.keys.update(serverActor, other.apiKey.id, { expiresAt: null });
    const { token } = await accounts.sessions.begin(key, host);
    const { token: otherToken } = await accounts.sessions.begin(other.key, host);
    await accounts.keys.update(serverActor, apiKey.id, end);
    if (!('disabled' in end)) await clock.advance(hour);
    await accounts.keys.update(serverActor, apiKey.id, back);
    await expect(accounts.sessions.find(token, host)).rejects.toMatchObject({ code: 'session_ended' });
    const again = await accounts.sessions.begin(key, host);
    expect(await accounts.sessions.find(again.token, host)).toBeDefined();
    expect(await accounts.sessions.find(otherToken, host)).toBeDefined();
  });

  it('that is expired counts as a new grant when it is extended', async () => {
    const limited = actorOf(await make({ scopes: ['admin'], models: ['m1'] }));
    const id = await make({ expiresAt: clock.now() + hour });
    const extend = () => accounts.keys.update(limited, id, { expiresAt: clock.now() + 2 * hour });
    // A key that works may be extended: its other settings do not change.
    await extend();
    await clock.advance(2 * hour);
    await expect(extend()).rejects.toMatchObject({ code: 'permission_denied', param: 'models' });
    await accounts.keys.update(serverActor, id, { models: ['m1'] });
    expect(await extend()).toMatchObject({ id, models: ['m1'] });
  });

  it('that administers keeps the scope admin, unless another admin key takes it', async () => {
    const [id, other] = [await make({ scopes: ['admin', 'files'] }), await make({ scopes: ['admin'] })];
    const drop = { scopes: ['files' as const] };
    await expect(accounts.keys.update(actorOf(id), id, drop)).rejects.toMatchObject({
      code: 'own_admin_scope',
      status: 409,
      message: expect.stringContaining('Use another admin key'),
    });
    await expect(accounts.keys.update(actorOf(id), id, { disabled: true })).rejects.toMatchObject({
      code: 'own_admin_scope',
      param: 'disabled',
    });
    await expect(accounts.keys.revoke(actorOf(id), id)).rejects.toMatchObject({ code: 'own_admin_scope' });
    expect(await accounts.keys.get(id)).toMatchObject({ revokedAt: null, disabledAt: null });
    expect(await accounts.keys.update(actorOf(id), id, { scopes: ['admin'] })).toMatchObject({ id });
    expect(await accounts.keys.update(actorOf(other), id, drop)).toMatchObject(drop);
    expect((await accounts.keys.update(actorOf(other), id, { disabled: true })).disabledAt).not.toBeNull();
    // A rotation ends the old key itself.
    const { apiKey, replaced } = await accounts.keys.rotate(actorOf(other), other, 0);
    expect(replaced.revokedAt).not.toBeNull();
    expect((await accounts.keys.revoke(actorOf(apiKey.id), id)).revokedAt).not.toBeNull();
  });
});

import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { createManualClock, type ManualClock } from '../../test/support/manual-clock.ts';
import { createMemoryStore, type MemoryStore } from '../../test/support/memory-store.ts';
import { silent } from '../base/log.ts';
import { type Actor, serverActor } from '../core/audit.ts';
import { type Controls, createControls } from './controls.ts';

let clock: ManualClock;
let store: MemoryStore;
let here: Controls;
let there: Controls;
let changes: number;

const everything = { model: null, orgId: null };
const by = (keyId: string): Actor => ({ ...serverActor, keyId });
const replica = { id: 'rep_1', model: 'm1', server: 'http://gpu' };

beforeEach(async () => {
  clock = createManualClock(1000);
  store = createMemoryStore({ clock });
  await store.start();
  changes = 0;
  [here, there] = [0, 1].map(() => createControls({ store, clock, log: silent })) as [Controls, Controls];
  there.onChange(() => void changes++);
  await here.start();
  await there.start();
});
afterEach(async () => {
  await here.stop();
  await there.stop();
  await store.stop();
});

describe('controls', () => {
  it('are in force at once where they are set, and on other processes within a second', async () => {
    expect(await here.pause({ model: 'm1', orgId: null }, by('key_1'))).toEqual([
      { model: 'm1', orgId: null, since: 1000, keyId: 'key_1' },
    ]);
    expect(here.pausing('org_a', 'm1')).toMatchObject({ since: 1000 });
    expect([here.pausing('org_a', 'm2'), there.pausing('org_a', 'm1')]).toEqual([null, null]);
    await here.drain(replica, by('key_1'));
    await here.cap({ ...replica, maxInFlight: 3 }, by('key_1'));
    await clock.advance(1000);
    expect(there.caps).toEqual([{ ...replica, maxInFlight: 3, since: 1000, keyId: 'key_1' }]);
    expect(there.pausing('org_a', 'm1')).toMatchObject({ since: 1000, keyId: 'key_1' });
    expect(there.drains).toEqual([{ ...replica, since: 1000, keyId: 'key_1' }]);
    expect(changes).toBe(1);
    expect(await there.resume(everything, by('key_1'))).toEqual([]);
    await there.undrain('rep_1', by('key_1'));
    await there.uncap('rep_1', by('key_1'));
    expect(changes).toBe(4);
    await clock.advance(1000);
    expect([here.pauses, here.drains, here.caps]).toEqual([[], [], []]);
    expect(changes).toBe(4);
  });

  it('keep the first time and key of a pause and a drain that are set again', async () => {
    await here.pause(everything, by('key_1'));
    await here.drain(replica, by('key_1'));
    await clock.advance(5000);
    await there.pause(everything, by('key_2'));
    await there.drain(replica, by('key_2'));
    expect([there.pauses, there.drains]).toMatchObject([
      [{ since: 1000, keyId: 'key_1' }],
      [{ since: 1000 }],
    ]);
  });

  it('stay in force while the database does not answer', async () => {
    await here.pause(everything, by('key_1'));
    const stored = store.controls;
    store.controls = { ...stored, read: () => Promise.reject(new Error('down')) };
    await clock.advance(60_000);
    expect(here.pausing('org_a', 'm1')).not.toBeNull();
    store.controls = stored;
    await stored.resume(everything, { actor: serverActor, at: 0 });
    await clock.advance(1000);
    expect(here.pausing('org_a', 'm1')).toBeNull();
  });

  it('are in force from the start of a process on', async () => {
    await here.pause(everything, by('key_1'));
    const later = createControls({ store, clock, log: silent });
    let isApplied = false;
    later.onChange(() => (isApplied = true));
    await later.start();
    expect([isApplied, later.pausing('org_a', 'm1')]).toMatchObject([true, { keyId: 'key_1' }]);
    await later.stop();
  });
});

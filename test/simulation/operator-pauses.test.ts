import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { serverActor } from '../../src/core/audit.ts';
import type { PauseScope } from '../../src/core/controls.ts';
import { type Database, openDatabase } from './database.ts';
import { startSingle } from './single-process.ts';

let database: Database;
beforeAll(async () => {
  database = await openDatabase();
});
afterAll(() => database.close());

/** Starts a process whose slots are busy with the lines of two orgs, more of which are claimed. */
async function startBusy() {
  const single = await startSingle(database, { slots: 4 });
  await single.settle(single.controls.start());
  await single.settle(single.batches.start());
  const lines = { delayMs: 300 };
  const ids = [
    await single.create('b0', 40, lines, 'org_1'),
    await single.create('b1', 40, lines, 'org_2'),
  ] as const;
  await single.pass(2_000);
  const counts = async () => Promise.all(ids.map(async (id) => (await single.find(id)).ok));
  return { single, ids, counts };
}

const scopes: [string, PauseScope, isOtherPaused: boolean][] = [
  ['everything', { model: null, orgId: null }, true],
  ['a model', { model: 'm1', orgId: null }, true],
  ['an org', { model: null, orgId: 'org_1' }, false],
  ['an org for a model', { model: 'm1', orgId: 'org_1' }, false],
];

describe('an operator who pauses', () => {
  it.each(scopes)(
    '%s stops its lines until the resumption, and no others',
    async (_, scope, isOtherPaused) => {
      const { single, ids, counts } = await startBusy();
      await single.settle(single.controls.pause(scope, serverActor));
      // Lines in flight end.
      await single.pass(1_000);
      const [paused, other] = await counts();
      await single.pass(30_000);
      expect((await counts())[0]).toBe(paused);
      expect((await counts())[1]).toBe(isOtherPaused ? other : 40);
      expect(await single.see(ids[0])).toMatchObject({ running: 0, waiting: { reason: 'paused' } });
      await single.settle(single.controls.resume(scope, serverActor));
      await single.pass(60_000);
      expect(await counts()).toEqual([40, 40]);
    },
  );

  it('stops the lines that are just being claimed', async () => {
    const single = await startSingle(database);
    await single.settle(single.controls.start());
    await single.settle(single.batches.start());
    // The claim of the start finds nothing, and must not be the late one.
    await single.pass(500);
    single.late.add('batches.claim');
    const id = await single.create('b0', 40);
    await single.pass(2_000);
    const leased = () => database.db.all("SELECT seq FROM batch_chunks WHERE state = 'leased'");
    expect(await leased()).not.toEqual([]);
    await single.settle(single.controls.pause({ model: 'm1', orgId: null }, serverActor));
    single.late.clear();
    await single.pass(20_000);
    expect(single.sent()).toBe(0);
    // Another process that runs the model after the pause may claim them.
    expect(await leased()).toEqual([]);
    await single.settle(single.controls.resume({ model: 'm1', orgId: null }, serverActor));
    await single.pass(60_000);
    expect((await single.find(id)).ok).toBe(40);
  });
});

import { afterAll, beforeAll, expect, it } from 'vitest';
import { type Database, openDatabase } from './database.ts';
import { startSingle } from './single-process.ts';

let database: Database;
beforeAll(async () => {
  database = await openDatabase();
});
afterAll(() => database.close());

it('runs a batch from its creation to its files', async () => {
  const single = await startSingle(database);
  await single.settle(single.batches.start());
  const id = await single.create('b0', 20);
  await single.pass(10_000);
  expect(await single.find(id)).toMatchObject({ status: 'completed', ok: 20, err: 0, errorFileId: null });
});

it('ends sixty batches that are cancelled at once within a minute', async () => {
  const single = await startSingle(database, { slots: 1 });
  await single.settle(single.batches.start());
  const ids: string[] = [];
  for (let n = 0; n < 60; n++) ids.push(await single.create(`b${n}`, 4, { delayMs: 30_000 }));
  for (const id of ids) await single.cancel(id);
  await single.pass(30_000);
  const states = await Promise.all(ids.map((id) => single.find(id)));
  expect(states.filter((batch) => batch.status !== 'cancelled')).toEqual([]);
});

it('does not ask without end for lines of a batch whose window is over', async () => {
  const single = await startSingle(database, { windowMs: 5_000 });
  await single.settle(single.batches.start());
  single.failing.add('batches.expire');
  const id = await single.create('b0', 40, { delayMs: 60_000 });
  await single.pass(6_000);
  single.calls.length = 0;
  await single.pass(10_000);
  expect(single.calls.filter((name) => name === 'batches.claim').length).toBeLessThan(60);
  single.failing.clear();
  await single.pass(15_000);
  expect((await single.find(id)).status).toBe('expired');
});

it('ends a batch whose input is gone, however often that cannot be written down', async () => {
  const single = await startSingle(database);
  await single.settle(single.batches.start());
  single.failing.add('batches.fail');
  const id = await single.create('b0', 40);
  await single.blobs.remove('blob_b0');
  await single.pass(60_000);
  expect((await single.find(id)).closing).toBeNull();
  single.failing.clear();
  await single.pass(30_000);
  expect(await single.find(id)).toMatchObject({
    status: 'failed',
    ok: 0,
    err: 40,
    errors: [{ code: 'batch_failed', message: 'The input file cannot be read.' }],
  });
});

it('stops although the database does not answer', async () => {
  const single = await startSingle(database, { drainMs: 1_000 });
  await single.settle(single.batches.start());
  await single.create('b0', 40, { delayMs: 500 });
  await single.pass(700);
  single.failing.add('*');
  await single.settle(single.batches.stop(), 60_000);
});

it('stops during its start, and begins nothing afterwards', async () => {
  const single = await startSingle(database);
  const starting = single.batches.start();
  await single.settle(single.batches.stop());
  await single.settle(starting);
  single.calls.length = 0;
  await single.pass(60_000);
  expect(single.calls).toEqual([]);
});

it('gives its work back when it stops, and another takes it at once', async () => {
  const single = await startSingle(database, { drainMs: 1_000 });
  await single.settle(single.batches.start());
  const id = await single.create('b0', 40, { delayMs: 400 });
  await single.pass(1_000);
  await single.settle(single.batches.stop());
  const leased = await database.db.all("SELECT seq FROM batch_chunks WHERE state = 'leased'");
  const kills = await database.db.all('SELECT seq FROM batch_chunks WHERE kills > 0');
  const { ok, status } = await single.find(id);
  expect([leased, kills, status]).toEqual([[], [], 'in_progress']);
  expect(ok).toBeGreaterThan(4);
});

import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { ApiError } from '../../src/core/errors.ts';
import { BlobError } from '../../src/core/blob-error.ts';
import { StoreError } from '../../src/core/store-error.ts';
import type { Store } from '../../src/store/store.ts';
import { type Database, openDatabase } from './database.ts';
import { orgDefaults } from '../../src/core/org.ts';
import { parseHours } from '../../src/core/hours.ts';
import { nextPeriodStart } from '../../src/core/budget.ts';
import { virtualEpoch } from '../support/virtual-clock.ts';
import { createManualClock } from '../support/manual-clock.ts';
import { addBatch, start } from '../store/fixtures.ts';
import { Gateway } from './gateway.ts';
import { owner, startSingle } from './single-process.ts';

const nextMonth = nextPeriodStart({ amount: 0, period: 'month' }, virtualEpoch)!;

let database: Database;
beforeAll(async () => {
  database = await openDatabase();
});
afterAll(() => database.close());

it('runs a batch from creation to its files', async () => {
  const single = await startSingle(database);
  await single.settle(single.batches.start());
  const id = await single.create('b0', 20);
  await single.pass(10_000);
  expect(await single.find(id)).toMatchObject({ status: 'completed', ok: 20, err: 0, errorFileId: null });
});

it('F53: sends a few lines per turn of the event loop, so that other requests get their turn, and still fills the server', async () => {
  const single = await startSingle(database, { slots: 64 });
  await single.create('b0', 200, { delayMs: 10_000 });
  let [sent, most] = [0, 0];
  const look = () => {
    const [before, known] = [sent, (sent = single.sent())];
    // The first lines wait for their file together.
    if (before > 0) most = Math.max(most, known - before);
    return false;
  };
  const started = single.batches.start();
  await single.time.run(single.time.elapsed + 500, look);
  await started;
  expect(most).toBe(2);
  expect(single.running()).toBe(64);
});

it('lists finished batches without a query for each', async () => {
  const single = await startSingle(database);
  await single.settle(single.batches.start());
  for (const name of ['b0', 'b1', 'b2']) await single.create(name, 2);
  await single.pass(20_000);
  single.calls.length = 0;
  const { batches } = await single.settle(single.batches.list(owner, { limit: 20, status: 'completed' }));
  expect(batches.map(({ usage }) => usage.outputTokens > 0)).toEqual([true, true, true]);
  const asked = single.calls.filter((name) => /^(ledger|results)|list|running/.test(name));
  expect(asked.toSorted()).toEqual(['batches.list', 'ledger.forSources']);
});

it('gives fifty orgs equal shares of an engine, however many batches they have', async () => {
  const single = await startSingle(database, { slots: 16 });
  const orgs = Array.from({ length: 50 }, (_, n) => `org_${n}`);
  for (const [n, org] of orgs.entries()) {
    const batches = n === 0 ? 1_000 : [1, 2, 5][n % 3]!;
    const lines = Math.max(1, Math.round(100 / batches));
    for (let at = 0; at < batches; at++) await single.create(`b${n}x${at}`, lines, {}, org);
  }
  await single.settle(single.batches.start());
  const given = async () => {
    const rows = await database.db.all<{ org_id: string; lines: number }>(
      'SELECT org_id, sum(ok) AS lines FROM batches GROUP BY org_id',
    );
    return rows.map((row) => row.lines);
  };
  const sum = (numbers: number[]) => numbers.reduce((a, b) => a + b, 0);
  while (sum(await given()) < 1_500) await single.pass(1_000);
  const lines = await given();
  const jain = sum(lines) ** 2 / (lines.length * sum(lines.map((n) => n ** 2)));
  expect(lines).toHaveLength(50);
  // No org has run out of work.
  expect(Math.max(...lines)).toBeLessThan(100);
  expect(jain).toBeGreaterThan(0.95);
});

it('ends sixty simultaneous cancellations within a minute', async () => {
  const single = await startSingle(database, { slots: 1 });
  await single.settle(single.batches.start());
  const ids: string[] = [];
  for (let n = 0; n < 60; n++) ids.push(await single.create(`b${n}`, 4, { delayMs: 30_000 }));
  for (const id of ids) await single.cancel(id);
  await single.pass(30_000);
  const states = await Promise.all(ids.map((id) => single.find(id)));
  expect(states.filter((batch) => batch.status !== 'cancelled')).toEqual([]);
});

it('does not claim in a loop after the window of a batch has ended', async () => {
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

it('ends a batch whose input is gone, once the failure can be written', async () => {
  const single = await startSingle(database);
  single.failing.add('batches.fail');
  const id = await single.create('b0', 40);
  await single.blobs.remove('blob_b0');
  await single.settle(single.batches.start());
  await single.pass(60_000);
  expect((await single.find(id)).closing).toBeNull();
  single.failing.clear();
  await single.pass(60_000);
  expect(await single.find(id)).toMatchObject({
    status: 'failed',
    ok: 0,
    err: 40,
    errors: [{ code: 'batch_failed', message: 'The input file is gone.' }],
  });
});

it('waits while the disk is temporarily unreadable, and loses no batch and no attempt', async () => {
  const single = await startSingle(database);
  await single.settle(single.batches.start());
  const ids: string[] = [];
  for (let n = 0; n < 10; n++) ids.push(await single.create(`b${n}`, 20));
  await single.pass(1_000);
  single.unreadable.set('*', new BlobError('unavailable', 'EMFILE', 'Raise the limit.'));
  await single.pass(6_000);
  single.unreadable.clear();
  await single.pass(120_000);
  const states = await Promise.all(ids.map((id) => single.find(id)));
  expect(states.filter(({ status, ok }) => status !== 'completed' || ok !== 20)).toEqual([]);
});

it('ends the lines of a cancelled batch with their custom_ids, however long files are unreadable', async () => {
  const single = await startSingle(database);
  const id = await single.create('b0', 40);
  single.unreadable.set('*', new BlobError('unavailable', 'The store is away.', 'Look at it.'));
  await single.settle(single.batches.start());
  await single.cancel(id);
  await single.pass(60 * 60_000);
  expect((await single.find(id)).status).toBe('cancelling');
  single.unreadable.clear();
  await single.pass(120_000);
  const batch = await single.find(id);
  expect(batch).toMatchObject({ status: 'cancelled', err: 40 });
  const file = await database.store.files.find(batch.errorFileId!);
  const errors = Buffer.from(single.blobs.stored.get(file!.blobId)!).toString();
  expect(errors.match(/"custom_id":"/g)).toHaveLength(40);
});

it.each([
  ['the database', new StoreError('unreachable', 'It does not answer.', 'Look into its log.')],
  ['the disk', new BlobError('unavailable', 'EMFILE', 'Raise the limit.')],
])('waits for %s while files of its lines are temporarily unreadable', async (_what, away) => {
  const single = await startSingle(database);
  await single.settle(single.batches.start());
  single.unreadable.set('files', away);
  const id = await single.create('b0', 20);
  await single.pass(30_000);
  expect(await single.find(id)).toMatchObject({ status: 'in_progress', ok: 0, err: 0 });
  // At most four polls a second.
  expect(single.calls.filter((name) => name === 'batches.claim').length).toBeLessThan(150);
  single.unreadable.clear();
  await single.pass(60_000);
  expect(await single.find(id)).toMatchObject({ status: 'completed', ok: 20 });
});

it('has no more lines in flight than fit into memory with their files', async () => {
  const single = await startSingle(database, { slots: 40, filledBytes: 8_388_608 });
  await single.settle(single.batches.start());
  const id = await single.create('b0', 40, { delayMs: 1_000 });
  await single.pass(800);
  expect(single.running()).toBe(8);
  await single.pass(30_000);
  expect(await single.find(id)).toMatchObject({ status: 'completed', ok: 40 });
});

it('runs other batches while the input of one is unreadable', async () => {
  const single = await startSingle(database);
  await single.settle(single.batches.start());
  single.unreadable.set('blob_b0', new BlobError('unavailable', 'EIO', 'Look into the log.'));
  const stuck = await single.create('b0', 200);
  const other = await single.create('b1', 200);
  await single.pass(60_000);
  expect(await single.find(other)).toMatchObject({ status: 'completed', ok: 200 });
  expect(await single.find(stuck)).toMatchObject({ status: 'in_progress', closing: null });
  // At most four polls a second.
  expect(single.calls.filter((name) => name === 'batches.claim').length).toBeLessThan(300);
  // No chunk stays leased, so a process that can read the file may claim them.
  const leased = await database.db.all("SELECT seq FROM batch_chunks WHERE state = 'leased'");
  expect(leased).toEqual([]);
  single.unreadable.clear();
  await single.pass(60_000);
  expect(await single.find(stuck)).toMatchObject({ status: 'completed', ok: 200 });
});

it('fails a batch whose chunks are unreadable, with the reason, and runs the others', async () => {
  const single = await startSingle(database);
  const stuck = await single.create('b0', 100);
  const other = await single.create('b1', 100);
  await database.db.all("UPDATE batch_chunks SET lines = '[[0,' WHERE batch_id = ? AND seq = 2", [stuck]);
  await single.settle(single.batches.start());
  await single.pass(30_000);
  expect(await single.find(other)).toMatchObject({ status: 'completed', ok: 100 });
  expect(await single.find(stuck)).toMatchObject({
    status: 'failed',
    errors: [{ message: 'A part of the batch can no longer be read from the database.' }],
  });
  const { ok, err } = await single.find(stuck);
  expect([ok > 0, ok + err]).toEqual([true, 100]);
  expect(single.calls.filter((name) => name === 'batches.claim').length).toBeLessThan(160);
});

it('fails a batch whose row is unreadable, with the reason, and runs the others', async () => {
  const single = await startSingle(database);
  const stuck = await single.create('b0', 100);
  const other = await single.create('b1', 100);
  await database.db.all(`UPDATE batches SET prices = '{"m1":{', errors = '[{' WHERE id = ?`, [stuck]);
  await single.settle(single.batches.start());
  // Until it ends, it is shown like any other batch.
  expect(await single.find(stuck)).toMatchObject({ closing: null, prices: {}, errors: [] });
  await single.pass(30_000);
  expect(await single.find(other)).toMatchObject({ status: 'completed', ok: 100 });
  expect(await single.find(stuck)).toMatchObject({
    status: 'failed',
    ok: 0,
    err: 100,
    errors: [{ message: 'A part of the batch can no longer be read from the database.' }],
  });
  const view = await single.settle(single.batches.get(owner, stuck));
  expect(view).toMatchObject({ amount: 0n, errorSummary: [{ code: 'batch_failed', count: 100 }] });
});

it('runs a batch whose stored errors are unreadable', async () => {
  const single = await startSingle(database);
  const id = await single.create('b0', 10);
  await database.db.all("UPDATE batches SET errors = '[{' WHERE id = ?", [id]);
  await single.settle(single.batches.start());
  await single.pass(30_000);
  expect(await single.find(id)).toMatchObject({ status: 'completed', ok: 10 });
});

it('reports that lines suspected of crashing the server are waiting', async () => {
  const single = await startSingle(database);
  const slow = { delayMs: 60_000 };
  const [first, second] = [await single.create('b0', 5, slow), await single.create('b1', 5, slow)];
  const kills = (n: number) => database.db.all('UPDATE batch_chunks SET kills = ? WHERE seq > 0', [n]);
  await kills(3);
  await database.db.all("UPDATE batches SET status = 'in_progress', in_progress_at = created_at");
  await single.settle(single.batches.start());
  // Suspects run only after the process has lived for a minute.
  await single.pass(58_000);
  expect((await single.find(first)).ok).toBe(0);
  expect(await single.see(first)).toMatchObject({ waiting: { reason: 'crash_suspected' } });
  await kills(2);
  await single.pass(5_000);
  expect(await single.see(first)).toMatchObject({ running: 1, waiting: null });
  expect(await single.see(second)).toMatchObject({ running: 0, waiting: { reason: 'crash_suspected' } });
});

it('runs other batches while the database rejects the claim of one chunk, and fails that batch', async () => {
  const single = await startSingle(database);
  const stuck = await single.create('b0', 100);
  const others: string[] = [];
  for (let n = 1; n < 6; n++) others.push(await single.create(`b${n}`, 20));
  await database.db.exec(`CREATE TRIGGER refuse BEFORE UPDATE ON batch_chunks
    WHEN NEW.batch_id = '${stuck}' AND NEW.seq = 1 AND NEW.state = 'leased' BEGIN SELECT RAISE(ABORT, 'refused'); END`);
  await single.settle(single.batches.start());
  await single.pass(3_000);
  const run = async () => (await Promise.all(others.map((id) => single.find(id)))).map(({ ok }) => ok);
  expect((await run()).every((ok) => ok > 0)).toBe(true);
  await single.pass(60_000);
  await database.db.exec('DROP TRIGGER refuse');
  expect(await run()).toEqual([20, 20, 20, 20, 20]);
  expect(await single.find(stuck)).toMatchObject({ status: 'failed', ok: 0, err: 100 });
});

it('runs batches created under an alias of a model, at its prices', async () => {
  const single = await startSingle(database, { aliases: ['before'] });
  const id = await single.create('b0', 8);
  await database.db.all("UPDATE batch_chunks SET model = 'before' WHERE seq > 0");
  await database.db.all("UPDATE batches SET prices = replace(prices, 'm1', 'before')");
  await single.settle(single.batches.start());
  await single.pass(10_000);
  expect(await single.find(id)).toMatchObject({ status: 'completed', ok: 8 });
  expect(await database.store.ledger.forSources([id])).toMatchObject([{ model: 'before', requests: 8 }]);
});

const linesInHand = async (): Promise<number> => {
  const leased = await database.db.all<{ lines: string }>(
    "SELECT lines FROM batch_chunks WHERE state = 'leased'",
  );
  return leased.reduce((sum, { lines }) => sum + (JSON.parse(lines) as unknown[]).length, 0);
};

it('continues a batch when its model is renamed, without claiming more of it', async () => {
  const single = await startSingle(database, { slots: 1 });
  await single.settle(single.batches.start());
  const id = await single.create('b0', 600);
  await single.pass(1_000);
  const before = await linesInHand();
  await single.rename('m2', 'm1');
  await single.pass(5_000);
  // The claimed lines are released, and about as many claimed under the new name.
  expect(await linesInHand()).toBeLessThan(before + 200);
  await single.pass(120_000);
  expect(await single.find(id)).toMatchObject({ status: 'completed', ok: 600 });
});

it('cancels 10,000 lines within three seconds and aborts requests in flight within one, on any process', async () => {
  const single = await startSingle(database, { slots: 64, processes: 3 });
  const [first, , last] = single.all;
  for (const each of single.all) await single.settle(each.start());
  await single.pass(20_000);
  const id = await single.create('b0', 10_000, { delayMs: 60_000 });
  await single.pass(5_000);
  expect(single.running()).toBe(64);
  single.calls.length = single.blobCalls.length = 0;
  await single.settle(last!.cancel(owner, id));
  await single.pass(1_000);
  expect(single.running()).toBe(0);
  await single.pass(2_000);
  expect(await single.settle(first!.get(owner, id))).toMatchObject({
    batch: { status: 'cancelled', err: 10_000 },
  });
  // Lines that never ran are read and written by the hundred.
  expect(single.blobCalls.length).toBeLessThan(150);
  expect(single.calls.filter((name) => name.startsWith('results.')).length).toBeLessThan(150);
});

it('loses no line and no attempt while a proxy answers 502 for 30 seconds', async () => {
  const single = await startSingle(database, { slots: 64 });
  await single.settle(single.batches.start());
  const id = await single.create('b0', 5_000, { delayMs: 250 });
  await single.pass(3_000);
  const [before, inHand] = [single.sent(), await linesInHand()];
  single.outage.error = new ApiError('upstream_error', 'The proxy says 502.');
  await single.pass(15_000);
  const { ok } = await single.find(id);
  expect(ok).toBeLessThan(before + 1);
  // Few more lines are claimed, and a few lines probe for all.
  expect(await linesInHand()).toBeLessThan(inHand + 300);
  expect(await single.see(id)).toMatchObject({ waiting: { reason: 'engine_unavailable' } });
  await single.pass(15_000);
  single.outage.error = null;
  await single.pass(60_000);
  expect(await single.find(id)).toMatchObject({ status: 'completed', ok: 5_000, err: 0 });
  expect(single.sent()).toBe(5_000);
  expect(single.outage.met).toBeLessThan(500);
});

it('fails no line of 3,000 while a proxy answers 502 for 20 seconds and probes succeed', async () => {
  const single = await startSingle(database, { slots: 64 });
  await single.settle(single.batches.start());
  const id = await single.create('b0', 3_000, { delayMs: 250 });
  await single.pass(3_000);
  Object.assign(single.outage, {
    error: new ApiError('upstream_error', 'The proxy says 502.'),
    isHidden: true,
  });
  await single.pass(20_000);
  single.outage.error = null;
  await single.pass(60_000);
  expect(await single.find(id)).toMatchObject({ status: 'completed', ok: 3_000, err: 0 });
  // Only the lines in flight at the start and a few trials failed.
  expect(single.outage.met).toBeLessThan(150);
});

describe('a line that its server refuses', () => {
  /** Status and counts of a batch. */
  async function stateOf(single: Awaited<ReturnType<typeof startSingle>>, id: string) {
    const { status, ok, err } = await single.find(id);
    return { status, ok, err };
  }

  it.each([
    ['with other lines', 20],
    ['alone', 0],
  ])('ends, %s, and no chat is refused meanwhile', async (_, others) => {
    const single = await startSingle(database, { slots: 4 });
    await single.settle(single.batches.start());
    const good = others > 0 ? await single.create('good', others) : null;
    const id = await single.create('bad', 1, { kind: 'closed' });
    const chats: string[] = [];
    for (let second = 0; second < 60; second++) {
      if (second % 3 === 0) void single.chat('hello').then((text) => chats.push(text));
      await single.pass(1_000);
    }
    expect(await stateOf(single, id)).toEqual({ status: 'completed', ok: 0, err: 1 });
    if (good) expect(await stateOf(single, good)).toEqual({ status: 'completed', ok: others, err: 0 });
    expect(chats).toEqual(Array.from({ length: 20 }, () => 'Echo: hello'));
    // One for each chat and each good line, and five for the bad line.
    expect(single.sent()).toBe(20 + others + 5);
  });

  it('ends if there are no other requests', async () => {
    const single = await startSingle(database, { slots: 4 });
    await single.settle(single.batches.start());
    const id = await single.create('bad', 1, { kind: 'closed' });
    await single.pass(60_000);
    expect(await stateOf(single, id)).toEqual({ status: 'completed', ok: 0, err: 1 });
    expect(single.sent()).toBe(5);
  });

  it('fails no line while the server refuses all requests for hours', async () => {
    const single = await startSingle(database, { slots: 4 });
    await single.settle(single.batches.start());
    single.outage.error = new ApiError('engine_overloaded', 'Loading.', { upstreamMessage: 'Loading model' });
    const id = await single.create('b0', 20);
    await single.pass(4 * 60 * 60_000);
    const { batch, waiting } = await single.see(id);
    expect([batch.err, waiting?.reason, waiting?.message]).toEqual([
      0,
      'rate_limited',
      'Loading. It says: Loading model',
    ]);
    // Only a few lines are sent as trials.
    expect(single.outage.met).toBeLessThan(30);
    single.outage.error = null;
    await single.pass(60_000);
    expect(await stateOf(single, id)).toEqual({ status: 'completed', ok: 20, err: 0 });
  });

  it.each([1, 4, 64])(
    'behind a router with a circuit breaker ends after a few calls, and fails no other request: %i slots',
    async (slots) => {
      const gateway = new Gateway();
      const single = await startSingle(database, { slots, gateway });
      await single.settle(single.batches.start());
      const bad = await single.create('bad', 1, { kind: 'broken' });
      const good = [await single.create('good', 20)];
      /** Chats of another client refused while the gateway's circuit was closed. */
      let [refused, answered] = [0, 0];
      for (let second = 0; second < 600; second++) {
        const isOpen = gateway.isClosed(single.time);
        if (second % 5 === 0)
          void single.chat('hello').then((text) => {
            if (text === 'Echo: hello') answered++;
            else if (isOpen) refused++;
          });
        if (second === 120) good.push(await single.create('more', 20));
        await single.pass(1_000);
      }
      expect(await stateOf(single, bad)).toEqual({ status: 'completed', ok: 0, err: 1 });
      for (const each of good)
        expect(await stateOf(single, each)).toEqual({ status: 'completed', ok: 20, err: 0 });
      // Trials that find the circuit closed again are allowed.
      expect([refused <= 4, answered > 60]).toEqual([true, true]);
      expect(gateway.asked).toBeLessThan(300);
    },
  );
});

it.each([
  ['that failed at once is sent again no sooner than half a second later', 10, 400, 1],
  ['whose server took long to fail is sent again at once', 5_000, 100, 2],
])('a line %s', async (_, delayMs, afterMs, times) => {
  const single = await startSingle(database);
  await single.settle(single.batches.start());
  await single.create('b0', 1, { kind: 'shaky', delayMs });
  await single.time.run(single.time.elapsed + 10_000, () => single.sent() === 1);
  await single.pass(delayMs + afterMs);
  expect(single.sent()).toBe(times);
});

it('F33: leaves lines to the process that can send them, and claims few while none can', async () => {
  const single = await startSingle(database, { slots: 8, processes: 2 });
  for (const each of single.all) await single.settle(each.start());
  await single.pass(11_000);
  const blame = { scope: 'account', certain: true, retry: true } as const;
  single.outage.error = new ApiError('upstream_error', 'No such key.', { blame });
  single.outage.of = [0];
  const first = await single.create('b0', 300);
  await single.pass(10_000);
  expect(await single.find(first)).toMatchObject({ status: 'completed', ok: 300 });
  expect([single.sent(), single.outage.met < 30]).toEqual([300, true]);

  single.outage.of = null;
  const second = await single.create('b1', 12);
  await single.pass(60_000);
  single.calls.length = 0;
  await single.pass(60_000);
  // Each of the two processes sends an occasional trial.
  expect(single.calls.filter((name) => name === 'batches.release').length).toBeLessThan(10);
  let held = 0;
  for (let look = 0; look < 100; look++) {
    await single.pass(101);
    if ((await linesInHand()) > 0) held++;
  }
  expect(held, 'of a hundred looks').toBeLessThan(20);
  for (const process of [0, 1])
    expect(await single.see(second, process)).toMatchObject({ waiting: { reason: 'credentials_refused' } });
  single.outage.of = [1];
  await single.pass(40_000);
  expect(await single.find(second)).toMatchObject({ status: 'completed', ok: 12 });
  expect(single.sent()).toBe(312);
});

it('runs 20 one-second lines in little more than a second, however many processes share the 64 slots', async () => {
  const single = await startSingle(database, { slots: 64, processes: 10 });
  for (const each of single.all) await single.settle(each.start());
  await single.pass(25_000);
  const id = await single.create('b0', 20, { delayMs: 1_000 });
  await single.pass(1_400);
  expect(await single.find(id)).toMatchObject({ status: 'completed', ok: 20 });
});

it('F08: keeps a server full and within its slots while processes come and die', async () => {
  const single = await startSingle(database, { slots: 64, processes: 4 });
  const [first, second, third, last] = single.all;
  let most = 0;
  /** Runs for `ms`; returns the share of the slots in use. */
  const pass = async (ms: number) => {
    let used = 0;
    for (let at = 0; at < ms; at += 10) {
      await single.pass(10);
      used += single.running() * 10;
      most = Math.max(most, single.running() + single.waiting());
    }
    return used / (64 * ms);
  };
  await single.settle(first!.start());
  const id = await single.create('b0', 4_000, { delayMs: 200 });
  await pass(500);
  // The processes do not know of each other until their next heartbeats, seconds away.
  for (const each of [second, third, last]) await single.settle(each!.start());
  expect(await pass(5_000)).toBeGreaterThan(0.95);
  single.kill(1);
  // The slots of the killed process stay unused until its lease lapses.
  await pass(4_000);
  expect(await pass(1_000)).toBeGreaterThan(0.98);
  await pass(60_000);
  expect(most).toBeLessThanOrEqual(72);
  expect(await single.find(id)).toMatchObject({ status: 'completed', ok: 4_000 });
});

it('F08: reclaims its slots after an idle time', async () => {
  const single = await startSingle(database, { slots: 64, processes: 2 });
  for (const each of single.all) await single.settle(each.start());
  await single.create('b0', 20, { delayMs: 50 });
  await single.pass(6_000);
  await single.create('b1', 2_000, { delayMs: 200 });
  let most = 0;
  for (let at = 0; at < 2_000; at += 10) {
    await single.pass(10);
    most = Math.max(most, single.running() + single.waiting());
  }
  expect(most).toBeGreaterThan(64);
  expect(most).toBeLessThanOrEqual(72);
});

it('F48: keeps an org to its budget, except for lines in flight, and continues within a second of a raise', async () => {
  const single = await startSingle(database, { processes: 2 });
  const { orgs } = database.store;
  const budget = (lines: number) => ({ amount: Math.floor(lines * cost), period: 'month' as const });
  const spent = async () =>
    (await orgs.budgets(virtualEpoch + single.time.elapsed)).map((each) => each.spent)[0]!;
  await orgs.insert(
    { id: owner.orgId, name: '', createdAt: 0, ...orgDefaults },
    { amount: 9e15, period: 'month' },
  );
  for (const each of [...single.orgStates, ...single.all]) await single.settle(each.start());
  await single.create('one', 1);
  await single.pass(5_000);
  const cost = await spent();
  expect(cost).toBeGreaterThan(0);

  await orgs.update(owner.orgId, { budget: budget(100.5) }, virtualEpoch + single.time.elapsed);
  const id = await single.create('b0', 400);
  const other = await single.create('b1', 300, {}, 'org_2');
  let inHand = 0;
  while ((await spent()) < budget(100.5).amount) {
    inHand = await linesInHand();
    await single.pass(10);
  }
  await single.pass(30_000);
  const { ok, status } = await single.find(id);
  expect(status).toBe('in_progress');
  expect(await spent()).toBe((ok + 1) * cost);
  // Both orgs had lines in flight.
  expect(await spent()).toBeLessThanOrEqual(budget(100.5).amount + inHand * cost);
  expect([await linesInHand(), single.running(), (await single.find(other)).status]).toEqual([
    0,
    0,
    'completed',
  ]);
  expect((await single.see(id)).waiting).toMatchObject({ reason: 'budget', until: nextMonth });
  const late = single.create('b2', 1);
  await expect(late).rejects.toMatchObject({ code: 'budget_exceeded' });

  await orgs.update(owner.orgId, { budget: budget(1_000) }, virtualEpoch + single.time.elapsed);
  await single.pass(1_000);
  expect([single.running() > 0, (await single.see(id)).waiting]).toEqual([true, null]);
  await single.pass(60_000);
  expect(await single.find(id)).toMatchObject({ status: 'completed', ok: 400 });
  expect([await spent(), single.sent()]).toEqual([401 * cost, 701]);
  expect(ok).toBeLessThan(200);
});

it('F48: expires a batch whose org stays without budget', async () => {
  const single = await startSingle(database, { windowMs: 20_000 });
  await single.settle(single.batches.start());
  const id = await single.create('b0', 10, { delayMs: 1_000 });
  await database.store.orgs.insert(
    { id: owner.orgId, name: '', createdAt: 0, ...orgDefaults },
    { amount: 0, period: 'total' },
  );
  await single.pass(25_000);
  const { status, ok, err } = await single.find(id);
  expect([status, ok + err]).toEqual(['expired', 10]);
});

it('keeps the batches of a disabled org waiting, without an alarm, until it is enabled', async () => {
  const single = await startSingle(database, { processes: 2, windowMs: 600_000 });
  const { orgs, batches } = database.store;
  for (const id of [owner.orgId, 'org_2']) await orgs.insert({ id, name: '', createdAt: 0, ...orgDefaults });
  for (const each of [...single.orgStates, ...single.all]) await single.settle(each.start());
  const disable = (disabled: boolean) =>
    orgs.update(owner.orgId, { disabled }, virtualEpoch + single.time.elapsed);
  const id = await single.create('b0', 400);
  const other = await single.create('b1', 300, {}, 'org_2');
  await single.pass(200);
  await disable(true);
  await single.pass(2_000);
  const { ok } = await single.find(id);
  await single.pass(500_000);
  expect(await single.find(id)).toMatchObject({ status: 'in_progress', ok });
  expect(ok).toBeLessThan(400);
  expect((await single.find(other)).status).toBe('completed');
  const seen = await single.see(id);
  expect(seen).toMatchObject({ waiting: { reason: 'org_disabled' }, atRisk: false });
  expect(seen.waiting!.since - virtualEpoch).toBeLessThan(1_000);
  expect((await batches.find(id))!.atRiskAt).toBeNull();
  await disable(false);
  await single.pass(1_000);
  expect((await single.see(id)).waiting).toBeNull();
  await single.pass(60_000);
  expect(await single.find(id)).toMatchObject({ status: 'completed', ok: 400 });
});

it('expires a batch whose org stays disabled', async () => {
  const single = await startSingle(database, { windowMs: 20_000 });
  await single.settle(single.batches.start());
  await database.store.orgs.insert({
    id: owner.orgId,
    name: '',
    createdAt: 0,
    ...orgDefaults,
    disabledAt: 1,
  });
  const id = await single.create('b0', 10, { delayMs: 1_000 });
  await single.pass(25_000);
  expect(await single.find(id)).toMatchObject({ status: 'expired', ok: 0, err: 10 });
});

it('runs batches in the hours of their model, and reports why the others wait', async () => {
  const minute = 60_000;
  const hours = { ...parseHours('00:20-00:10')!, share: 0 };
  const single = await startSingle(database, { hours });
  await single.settle(single.batches.start());
  const id = await single.create('b0', 400, { delayMs: 10_000 });
  await single.pass(10 * minute - 5_000);
  expect(await single.see(id)).toMatchObject({ waiting: null, ratePerMinute: expect.closeTo(24, 0) });
  await single.pass(20_000);
  const { ok } = await single.find(id);
  expect([ok >= 240, ok < 250, single.running(), await linesInHand()]).toEqual([true, true, 0, 0]);
  const until = virtualEpoch + 20 * minute;
  const seen = await single.see(id);
  expect(seen).toMatchObject({
    waiting: { reason: 'hours', since: until - 10 * minute, until },
    atRisk: false,
  });
  expect(Math.abs(seen.eta! - (until + 160 * 2_500))).toBeLessThan(minute);
  const late = await single.create('b1', 4);
  const { createdAt } = await single.find(late);
  expect((await single.see(late)).waiting).toMatchObject({ reason: 'hours', since: createdAt, until });
  await single.pass(9 * minute);
  expect((await single.find(id)).ok).toBe(ok);
  await single.pass(10 * minute);
  expect(await single.find(id)).toMatchObject({ status: 'completed', ok: 400 });
  expect(await single.find(late)).toMatchObject({ status: 'completed', ok: 4 });
});

it('gives batches their share of the slots outside their hours', async () => {
  const single = await startSingle(database, { hours: { ...parseHours('01:00-02:00')!, share: 0.3 } });
  await single.settle(single.batches.start());
  const id = await single.create('b0', 20, { delayMs: 10_000 });
  await single.pass(2_000);
  expect([single.running(), (await single.see(id)).waiting]).toEqual([2, null]);
});

it('releases the chunks of a model that it no longer serves', async () => {
  const single = await startSingle(database, { slots: 1 });
  await single.settle(single.batches.start());
  const id = await single.create('b0', 100);
  await single.pass(1_000);
  expect(await linesInHand()).toBeGreaterThan(0);
  await single.rename('another');
  await single.pass(3_000);
  expect(await linesInHand()).toBe(0);
  // No process serves the model, so its grace period begins.
  await single.pass(60_000);
  const { status, ok, err } = await single.find(id);
  expect([status, ok + err, err > 0]).toEqual(['completed', 100, true]);
});

it('runs and cancels batches behind thousands of others', async () => {
  const single = await startSingle(database, { slots: 1 });
  for (let n = 0; n < 2_100; n++) await single.create(`b${n}`, 1, { delayMs: 60_000 });
  const late = await single.create('late', 1, { delayMs: 100 });
  await database.db.all("UPDATE batches SET org_id = 'org_2' WHERE id = ?", [late]);
  await database.db.all("UPDATE batch_chunks SET org_id = 'org_2', due = due + 9e9 WHERE batch_id = ?", [
    late,
  ]);
  const cancelled = await single.create('cancelled', 1);
  await single.settle(single.batches.start());
  await single.cancel(cancelled);
  await single.pass(5_000);
  expect((await single.find(cancelled)).status).toBe('cancelled');
  await single.pass(60_000);
  expect((await single.find(late)).status).toBe('completed');
});

it('fails a batch one of whose results the database rejects, and records all others', async () => {
  const single = await startSingle(database);
  const stuck = await single.create('b0', 100);
  const other = await single.create('b1', 100);
  await database.db.exec(`CREATE TRIGGER refuse BEFORE INSERT ON batch_results
    WHEN NEW.batch_id = '${stuck}' AND NEW.line = 7 AND NEW.stream = 'output'
    BEGIN SELECT RAISE(ABORT, 'refused'); END`);
  await single.settle(single.batches.start());
  await single.pass(30_000);
  await database.db.exec('DROP TRIGGER refuse');
  expect(await single.find(other)).toMatchObject({ status: 'completed', ok: 100 });
  const batch = await single.find(stuck);
  expect(batch).toMatchObject({
    status: 'failed',
    errors: [{ message: 'The database rejects a result of the batch.' }],
  });
  expect([batch.ok > 0, batch.ok + batch.err]).toEqual([true, 100]);
});

it('fails a batch whose counts do not match its results, after a few attempts that leave no blobs', async () => {
  const single = await startSingle(database);
  await single.settle(single.batches.start());
  const stuck = await single.create('b0', 20);
  await single.pass(300);
  await database.db.all('UPDATE batches SET ok = ok + 1 WHERE id = ?', [stuck]);
  const other = await single.create('b1', 20);
  let mostBlobs = 0;
  for (let s = 0; s < 60; s++) {
    await single.pass(1_000);
    mostBlobs = Math.max(mostBlobs, single.blobs.stored.size);
  }
  expect(await single.find(other)).toMatchObject({ status: 'completed', ok: 20 });
  const batch = await single.find(stuck);
  expect(batch).toMatchObject({
    status: 'failed',
    errors: [{ message: 'The results of the batch and its counts differ.' }],
  });
  expect(single.calls.filter((name) => name === 'batches.publish').length).toBe(5);
  // Two inputs, and the results of both, with the indexes of their lines.
  const named = await database.db.all<{ blob_id: string; purpose: string }>(
    'SELECT blob_id, purpose FROM files',
  );
  const kept = named.flatMap(({ blob_id: id, purpose }) =>
    purpose === 'batch' ? [id] : [id, `${id}.index`],
  );
  expect([...single.blobs.stored.keys()].toSorted()).toEqual(kept.toSorted());
  expect(mostBlobs).toBeLessThanOrEqual(kept.length + 4);
});

it('ends a batch whose last results the database rejects', async () => {
  const single = await startSingle(database);
  await single.settle(single.batches.start());
  const id = await single.create('b0', 20, { delayMs: 30_000 });
  await single.pass(1_000);
  await database.db.exec(`CREATE TRIGGER refuse BEFORE INSERT ON batch_results
    WHEN NEW.line = 7 BEGIN SELECT RAISE(ABORT, 'refused'); END`);
  await single.cancel(id);
  await single.pass(40_000);
  await database.db.exec('DROP TRIGGER refuse');
  expect(await single.find(id)).toMatchObject({
    status: 'cancelled',
    errors: [{ message: 'The database cannot read or write all results of the batch.' }],
  });
});

it('waits for a disk that cannot be written before it publishes the files of a batch', async () => {
  const single = await startSingle(database);
  await single.settle(single.batches.start());
  single.unwritable.set('*', new BlobError('unavailable', 'EIO', 'Look into the log.'));
  const id = await single.create('b0', 20);
  await single.pass(60_000);
  expect(await single.find(id)).toMatchObject({ status: 'in_progress', closing: 'completed' });
  single.unwritable.clear();
  await single.pass(40_000);
  expect(await single.find(id)).toMatchObject({ status: 'completed', ok: 20 });
});

it('retries an unavailable database a few times a minute, without failing a batch', async () => {
  const single = await startSingle(database);
  await single.settle(single.batches.start());
  const id = await single.create('b0', 100);
  await single.pass(500);
  single.failing.add('*');
  single.calls.length = 0;
  await single.pass(60_000);
  expect(single.calls.filter((name) => name === 'batches.claimClosings').length).toBeLessThan(30);
  single.failing.clear();
  await single.pass(60_000);
  expect(await single.find(id)).toMatchObject({ status: 'completed', ok: 100 });
});

it('continues requests in flight while the database hangs, sends no new ones, and loses none', async () => {
  const single = await startSingle(database);
  await single.settle(single.batches.start());
  const id = await single.create('b0', 40, { delayMs: 45_000 });
  await single.pass(11_000);
  expect(single.running()).toBe(4);
  single.hanging.add('*');
  await single.pass(32_000);
  expect(single.running()).toBe(4);
  // The fifth line waited at the engine.
  await single.pass(52_000);
  expect(single.running()).toBe(0);
  single.hanging.clear();
  await single.pass(15_000);
  expect([single.running(), (await single.find(id)).ok]).toEqual([4, 5]);
  const leased = 'SELECT max(epoch) AS epoch, max(kills) AS kills FROM batch_chunks WHERE seq > 0';
  expect(await database.db.all(leased)).toEqual([{ epoch: 1, kills: 0 }]);
  await single.pass(600_000);
  expect(await single.find(id)).toMatchObject({ status: 'completed', ok: 40 });
});

it.each([25, -25])('continues when the system clock jumps by %i hours', async (hours) => {
  const hour = 3_600_000;
  const single = await startSingle(database, { windowMs: 600_000, exclusive: true });
  await single.settle(single.batches.start());
  const ready = await single.create('b0', 40, { delayMs: 20_000 });
  const late = await single.create('b1', 1, { delayMs: hour });
  const { expiresAt } = await single.find(late);
  await single.pass(15_000);
  single.jump(hours * hour);
  await single.pass(400_000);
  expect(await single.find(ready)).toMatchObject({ status: 'completed', ok: 40 });
  const moved = (await single.find(late)).expiresAt - expiresAt;
  expect(Math.abs(moved - hours * hour)).toBeLessThan(100);
  // The window keeps its length in elapsed time.
  await single.pass(160_000);
  expect((await single.find(late)).status).toBe('in_progress');
  await single.pass(60_000);
  expect((await single.find(late)).status).toBe('expired');
});

it.each([400, -400])(
  'F11: bills lines by the time before a jump of the system clock by %i days',
  async (days) => {
    const day = 86_400_000;
    const single = await startSingle(database, { exclusive: true });
    await single.settle(single.batches.start());
    const billed = async (id: string) => {
      const rows = await database.store.ledger.forSources([id]);
      return rows.map((row) => [row.day.slice(0, 10), row.requests]);
    };
    const today = new Date(virtualEpoch).toISOString().slice(0, 10);
    const before = await single.create('b0', 4);
    await single.pass(100_000);
    single.jump(days * day);
    await single.pass(15_000);
    const after = await single.create('b1', 4);
    await single.pass(30_000);
    expect((await single.find(after)).status).toBe('completed');
    single.jump(-days * day);
    await single.pass(15_000);
    const later = await single.create('b2', 4);
    await single.pass(30_000);
    expect([await billed(before), await billed(after), await billed(later)]).toEqual([
      [[today, 4]],
      [[today, 4]],
      [[today, 4]],
    ]);
  },
);

it('keeps the chunks of a claim that is answered after a heartbeat', async () => {
  const single = await startSingle(database);
  await single.settle(single.batches.start());
  await single.pass(8_000);
  single.late.add('batches.claim');
  const id = await single.create('b0', 4);
  await single.pass(4_000);
  expect(single.calls.filter((name) => name === 'workers.leases')).toHaveLength(2);
  single.late.clear();
  await single.pass(3_000);
  expect(await single.find(id)).toMatchObject({ status: 'completed', ok: 4 });
  expect(single.calls.filter((name) => name === 'batches.release')).toEqual([]);
});

it('releases the chunks of a claim whose answer was lost', async () => {
  const single = await startSingle(database);
  await single.settle(single.batches.start());
  single.failing.add('batches.claim');
  const id = await single.create('b0', 4);
  single.failing.clear();
  await database.db.all(
    "UPDATE batch_chunks SET state = 'leased', epoch = epoch + 1, owner = (SELECT id FROM workers) WHERE batch_id = ? AND seq > 0",
    [id],
  );
  await single.pass(15_000);
  expect(single.calls.filter((name) => name === 'batches.release')).toHaveLength(1);
  expect(await single.find(id)).toMatchObject({ status: 'completed', ok: 4 });
});

it('stops even if the database does not answer', async () => {
  const single = await startSingle(database, { drainMs: 1_000 });
  await single.settle(single.batches.start());
  await single.create('b0', 40, { delayMs: 500 });
  await single.pass(700);
  single.failing.add('*');
  await single.settle(single.batches.stop(), 60_000);
});

it('stops during its start, and does nothing afterwards', async () => {
  const single = await startSingle(database);
  const starting = single.batches.start();
  await single.settle(single.batches.stop());
  await single.settle(starting);
  single.calls.length = 0;
  await single.pass(60_000);
  expect(single.calls).toEqual([]);
});

it('releases its work when it stops, without counting a kill', async () => {
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

it('expires other batches while the database rejects the expiry of one', async () => {
  await database.reset(createManualClock());
  const due = [];
  for (let n = 0; n < 3; n++) due.push(await addBatch(database.store as Store, { expiresAt: start + n }));
  await database.db.exec(`CREATE TRIGGER refuse BEFORE UPDATE ON batches
    WHEN NEW.id = '${due[0]!.id}' AND NEW.closing = 'expired' BEGIN SELECT RAISE(ABORT, 'refused'); END`);
  const others = due.slice(1).map(({ id }) => id);
  expect(await database.store.batches.expire(start + 9, 10)).toEqual(others);
  await expect(database.store.batches.expire(start + 9, 10)).rejects.toThrow('refused');
  await database.db.exec('DROP TRIGGER refuse');
  expect(await database.store.batches.expire(start + 9, 10)).toEqual([due[0]!.id]);
});

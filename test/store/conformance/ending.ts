import { describe, expect, test } from 'vitest';
import type { Batch, BatchFault } from '../../../src/core/batch.ts';
import type { Stores } from '../conformance.ts';
import {
  addBatch,
  claimClosing,
  closeBatch,
  hour,
  lease,
  makeWebhook,
  output,
  range,
  runningLines,
  start,
  claimOf,
  batchesToClose,
  readyModels,
} from '../fixtures.ts';

export function endingTests(on: Stores): void {
  const fault: BatchFault = { code: 'batch_failed', message: 'The input is gone.', param: null, line: null };
  const complete = async () => {
    const batch = await addBatch(on.store);
    await claimOf(on.store, 'w', batch.id, { count: 9 });
    await on.store.results.record(
      'w',
      range(0, 8).map((line) => output(batch, line)),
      [],
      start,
    );
    return batch;
  };

  describe('cancelling', () => {
    test.each(['validating', 'in_progress'])('begins once while %s', async (status) => {
      const batch = await addBatch(on.store);
      if (status === 'in_progress') await claimOf(on.store, 'w', batch.id);
      const cancelled = await on.store.batches.cancel('org_a', batch.id, start + 5, 2_000);
      const expected = {
        status: 'cancelling',
        closing: 'cancelled',
        acceptUntil: start + 2_005,
        cancellingAt: start + 5,
      };
      expect(cancelled).toMatchObject({ began: true, batch: expected });
      expect(await on.store.batches.find(batch.id)).toEqual(cancelled!.batch);
      expect(await on.store.batches.cancel('org_a', batch.id, start + 9, 2_000)).toEqual({
        began: false,
        batch: cancelled!.batch,
      });
      expect(await readyModels(on.store)).toEqual([]);
      expect(await batchesToClose(on.store)).toEqual([batch.id]);
      expect(await runningLines(on.store, batch.id)).toBe(status === 'validating' ? 0 : 4);
    });

    test('does not find unknown batches or those of other orgs', async () => {
      const batch = await addBatch(on.store);
      expect(await on.store.batches.cancel('org_b', batch.id, start, 0)).toBeUndefined();
      expect(await on.store.batches.cancel('org_a', 'batch_unknown', start, 0)).toBeUndefined();
      expect(await on.store.batches.find(batch.id)).toEqual(batch);
    });

    test.each(['completed', 'failed', 'expired', 'cancelled'] as const)(
      'changes nothing when %s',
      async (end) => {
        const batch = end === 'completed' ? await complete() : await addBatch(on.store);
        if (end === 'failed') await on.store.batches.fail(batch.id, fault, start);
        if (end === 'expired') await on.store.batches.expire(batch.expiresAt, 10);
        if (end === 'cancelled') await on.store.batches.cancel('org_a', batch.id, start, 0);
        const decided = await on.store.batches.find(batch.id);
        expect(await on.store.batches.cancel('org_a', batch.id, start, 0)).toEqual({
          began: false,
          batch: decided,
        });
        const closed = await closeBatch(on.store, batch.id);
        expect(closed.status).toBe(end);
        expect(await on.store.batches.cancel('org_a', batch.id, start, 0)).toEqual({
          began: false,
          batch: closed,
        });
      },
    );

    test('concurrently begins once', async () => {
      const batch = await addBatch(on.store);
      const outcomes = await Promise.all(
        range(0, 6).map((i) =>
          (i % 2 === 0 ? on.store : on.other).batches.cancel('org_a', batch.id, start + i, 0),
        ),
      );
      expect(outcomes.filter((outcome) => outcome!.began)).toHaveLength(1);
      for (const outcome of outcomes) expect(outcome!.batch.status).toBe('cancelling');
    });

    test('racing the last line, the expiry and a failure has one winner', async () => {
      for (let round = 0; round < 5; round++) {
        const batch = await addBatch(on.store);
        await claimOf(on.store, 'w', batch.id, { count: 9 });
        await on.store.results.record(
          'w',
          range(0, 7).map((line) => output(batch, line)),
          [],
          start,
        );
        const [cancelled, , expired, failed] = await Promise.all([
          on.other.batches.cancel('org_a', batch.id, start, 2_000),
          on.store.results.record('w', [output(batch, 7)], [], start),
          on.store.batches.expire(batch.expiresAt, 10),
          on.other.batches.fail(batch.id, fault, start),
        ]);
        const { closing } = (await on.store.batches.find(batch.id))!;
        expect(cancelled!.began).toBe(closing === 'cancelled');
        expect(expired.includes(batch.id)).toBe(closing === 'expired');
        expect(failed).toBe(closing === 'failed');
        expect((await closeBatch(on.store, batch.id)).status).toBe(closing);
      }
    });
  });

  describe('expiring', () => {
    test('decides the end of batches whose window is over, the oldest first', async () => {
      const late = await addBatch(on.store, { expiresAt: start + 3 });
      const second = await addBatch(on.store, { expiresAt: start + 2 });
      const first = await addBatch(on.store, { expiresAt: start + 1 });
      await claimOf(on.store, 'w', first.id);
      expect(await on.store.batches.expire(start, 10)).toEqual([]);
      expect(await on.store.batches.expire(start + 2, 1)).toEqual([first.id]);
      expect(await on.store.batches.expire(start + 2, 9)).toEqual([second.id]);
      expect(await on.store.batches.expire(start + 2, 9)).toEqual([]);
      expect(await on.store.batches.find(first.id)).toMatchObject({
        status: 'in_progress',
        closing: 'expired',
        acceptUntil: first.acceptUntil,
      });
      for (const { id } of [first, second]) expect(await claimOf(on.store, 'w', id)).toEqual([]);
      expect(await claimOf(on.store, 'w', late.id)).toHaveLength(1);
      expect(await batchesToClose(on.store)).toHaveLength(2);
    });

    test('leaves batches whose end is decided: a cancelling batch ends cancelled', async () => {
      const [cancelling, done] = [await addBatch(on.store), await complete()];
      await on.store.batches.cancel('org_a', cancelling.id, start, 0);
      expect(await on.store.batches.expire(start + 48 * hour, 10)).toEqual([]);
      expect((await closeBatch(on.store, cancelling.id)).status).toBe('cancelled');
      expect((await closeBatch(on.store, done.id)).status).toBe('completed');
    });
  });

  describe('failing', () => {
    test('decides the end once and stores the reason', async () => {
      const batch = await addBatch(on.store);
      expect(await on.store.batches.fail(batch.id, fault, start)).toBe(true);
      expect(await on.store.batches.fail(batch.id, { ...fault, message: 'Another.' }, start)).toBe(false);
      expect(await on.store.batches.find(batch.id)).toMatchObject({
        status: 'validating',
        closing: 'failed',
        errors: [fault],
        acceptUntil: start + 2_000,
      });
      expect(await closeBatch(on.store, batch.id)).toMatchObject({
        status: 'failed',
        errors: [fault],
        err: 8,
      });
    });

    test('changes nothing after the end is decided, and ignores unknown batches', async () => {
      const batch = await addBatch(on.store);
      await on.store.batches.cancel('org_a', batch.id, start, 0);
      expect(await on.store.batches.fail(batch.id, fault, start)).toBe(false);
      expect((await on.store.batches.find(batch.id))?.errors).toEqual([]);
      expect(await on.store.batches.fail('batch_unknown', fault, start)).toBe(false);
    });
  });

  describe('moving the windows', () => {
    test('moves those of unfinished batches, and does not reopen a gate', async () => {
      const open = await addBatch(on.store);
      const shut = await addBatch(on.store);
      await on.store.batches.cancel('org_a', shut.id, start, 2_000);
      const closing = await claimClosing(on.store, 'c', shut.id);
      await on.store.batches.closeGate('c', closing);
      const finished = await addBatch(on.store);
      await on.store.batches.cancel('org_a', finished.id, start, 0);
      await closeBatch(on.store, finished.id);
      const paused = await addBatch(on.store);
      await on.store.batches.pause('org_a', paused.id, start);
      expect(await on.store.batches.moveWindows(-hour)).toBe(3);
      // No time has passed, neither running nor paused.
      const pausedMs = async (id: string) => (await on.store.batches.find(id))!.pausedMs;
      expect([await pausedMs(open.id), await pausedMs(paused.id)]).toEqual([-hour, 0]);
      const windowOf = async (id: string) => {
        const { expiresAt, acceptUntil, due } = (await on.store.batches.find(id))!;
        return [expiresAt, acceptUntil, due];
      };
      expect(await windowOf(open.id)).toEqual([
        open.expiresAt - hour,
        open.acceptUntil - hour,
        open.due - hour,
      ]);
      expect(await windowOf(shut.id)).toEqual([shut.expiresAt - hour, 0, shut.due - hour]);
      expect((await windowOf(finished.id))[0]).toBe(finished.expiresAt);
    });

    test('moves deliveries, both due and leased ones', async () => {
      const webhook = makeWebhook({ eventTypes: ['batch.cancelled'] });
      await on.store.webhooks.insert(webhook, 'secret', 100);
      const claim = async (worker: string) =>
        (await on.store.webhooks.claim(worker, { leaseMs: hour, limit: 9, each: 9, busy: [] })).length;
      const addDelivery = async () => {
        const batch = await addBatch(on.store);
        await on.store.batches.cancel('org_a', batch.id, start, 0);
        await closeBatch(on.store, batch.id);
      };
      await addDelivery();
      const by = (await on.store.ping()) - start + 2 * hour;
      await on.store.batches.moveWindows(by);
      const [delivery] = await on.store.webhooks.deliveries('org_a', webhook.id, { limit: 9 });
      expect(delivery!.nextAttemptAt).toBe(start + by);
      expect(await claim('w')).toBe(0);
      await on.store.batches.moveWindows(-by);
      expect(await claim('w')).toBe(1);
      expect(await claim('v')).toBe(0);
      // The clock jumps past the end of the lease, which moves with it.
      await on.store.batches.moveWindows(-2 * hour);
      expect(await claim('v')).toBe(1);
    });
  });

  describe('reopening', () => {
    /** Finishes every chunk with results for these lines alone, as if the others had been recorded and lost. */
    const losing = async (batch: Batch, recorded: number[]): Promise<void> => {
      const chunks = await claimOf(on.store, 'w', batch.id, { count: 9 });
      const results = recorded.map((line) => output(batch, line));
      await on.store.results.record('w', results, chunks.map(lease), start);
    };

    test('makes lines run again whose results the database lost, and no others', async () => {
      const batch = await addBatch(on.store);
      await losing(batch, [0, 1, 2, 3, 5]);
      expect(await readyModels(on.store)).toEqual([]);
      expect(await on.store.batches.reopen(start, 10)).toEqual([batch.id]);
      const chunks = await claimOf(on.store, 'w', batch.id, { count: 9 });
      expect(chunks.flatMap(({ lines }) => lines.map(({ line }) => line))).toEqual([4, 6, 7]);
      const rest = [4, 6, 7].map((line) => output(batch, line));
      await on.store.results.record('w', rest, chunks.map(lease), start);
      await on.store.batches.reopen(start, 10);
      expect(await closeBatch(on.store, batch.id)).toMatchObject({ status: 'completed', ok: 8, err: 0 });
    });

    test('ignores lines that may still be running, and batches that are ending or have ended', async () => {
      await addBatch(on.store);
      const held = await addBatch(on.store);
      await claimOf(on.store, 'w', held.id);
      const ending = await addBatch(on.store);
      await losing(ending, [0]);
      await on.store.batches.cancel('org_a', ending.id, start, 0);
      const ended = await addBatch(on.store);
      await losing(ended, [0]);
      await on.store.batches.cancel('org_a', ended.id, start, 0);
      await closeBatch(on.store, ended.id);
      expect(await on.store.batches.reopen(start, 10)).toEqual([]);
    });

    test('ignores a batch whose window is over and whose late results were not accepted', async () => {
      const batch = await addBatch(on.store);
      const chunks = await claimOf(on.store, 'w', batch.id, { count: 9 });
      const late = range(0, 8).map((line) => output(batch, line));
      await on.store.results.record('w', late, chunks.map(lease), batch.acceptUntil);
      expect(await on.store.batches.find(batch.id)).toMatchObject({ status: 'in_progress', ok: 0 });
      expect(await on.store.batches.reopen(batch.expiresAt, 10)).toEqual([]);
      expect(await on.store.batches.reopen(batch.expiresAt - 1, 10)).toEqual([batch.id]);
    });

    test('handles a few batches at a time', async () => {
      for (let n = 0; n < 3; n++) await losing(await addBatch(on.store), [n]);
      expect(await on.store.batches.reopen(start, 2)).toHaveLength(2);
      expect(await on.store.batches.reopen(start, 2)).toHaveLength(1);
      expect(await on.store.batches.reopen(start, 2)).toEqual([]);
    });
  });
}

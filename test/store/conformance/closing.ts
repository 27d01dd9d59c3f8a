import { describe, expect, test } from 'vitest';
import type { Batch } from '../../../src/core/batch.ts';
import { noUsage, type Usage } from '../../../src/core/usage.ts';
import type { LineResult } from '../../../src/store/contract/results.ts';
import type { Stores } from '../conformance.ts';
import {
  addBatch,
  addToLedger,
  claimClosing,
  closeBatch,
  day,
  failure,
  lease,
  makeFile,
  output,
  range,
  start,
  claimOf,
  batchesToClose,
} from '../fixtures.ts';

export function closingTests(on: Stores): void {
  const none = { output: null, errors: null };
  /** Stores a batch with these results that is being cancelled. */
  const cancelled = async (results: (batch: Batch) => LineResult[] = () => []) => {
    const batch = await addBatch(on.store);
    await claimOf(on.store, 'w', batch.id, { count: 9 });
    await on.store.results.record('w', results(batch), [], start);
    await on.store.batches.cancel('org_a', batch.id, start, 2_000);
    return batch;
  };

  describe('closing', () => {
    test('shuts the gate, and only for the holder of chunk 0', async () => {
      const batch = await cancelled();
      const closing = await claimClosing(on.store, 'c', batch.id);
      expect(await on.store.batches.closeGate('d', closing)).toBe(false);
      expect(await on.store.batches.closeGate('c', { ...closing, epoch: 9 })).toBe(false);
      expect(await on.store.batches.closeGate('c', { ...closing, batchId: 'batch_unknown' })).toBe(false);
      expect((await on.store.batches.find(batch.id))?.acceptUntil).toBe(start + 2_000);
      expect(await on.store.batches.closeGate('c', closing)).toBe(true);
      expect((await on.store.batches.find(batch.id))?.acceptUntil).toBe(0);
    });

    test('is refused to a process that holds lines of the batch', async () => {
      const batch = await addBatch(on.store);
      const [chunk] = await claimOf(on.store, 'w', batch.id);
      await on.store.batches.cancel('org_a', batch.id, start, 0);
      expect(await on.store.batches.closeGate('w', lease(chunk!))).toBe(false);
      expect(await on.store.results.recordMissing('w', lease(chunk!), [failure(batch, 0)], start)).toBe(
        false,
      );
      expect(await on.store.batches.publish('w', lease(chunk!), none, start)).toBe('fenced');
    });

    test('records the missing lines behind the gate, once each', async () => {
      const batch = await cancelled((made) => [output(made, 0), failure(made, 1)]);
      const closing = await claimClosing(on.store, 'c', batch.id);
      await on.store.batches.closeGate('c', closing);
      const missing = (await on.store.results.missing(batch.id, 0, 4)).map((line) =>
        failure(batch, line, { code: 'batch_cancelled' }),
      );
      expect(await on.store.results.recordMissing('d', closing, missing, start)).toBe(false);
      expect(await on.store.results.recordMissing('c', closing, missing, start)).toBe(true);
      expect(await on.store.results.recordMissing('c', closing, missing, start)).toBe(true);
      expect(await on.store.batches.find(batch.id)).toMatchObject({ ok: 1, err: 5 });
      expect(await on.store.results.missing(batch.id, 0, 10)).toEqual([6, 7]);
      expect(
        (await on.store.results.tail(batch.id, 'errors', 0, { rows: 10, bytes: 1e9 })).map(({ n, line }) => [
          n,
          line,
        ]),
      ).toEqual([
        [1, 1],
        [2, 2],
        [3, 3],
        [4, 4],
        [5, 5],
      ]);
    });

    test('is taken over from a dead process, which is fenced off', async () => {
      const batch = await cancelled();
      await on.store.workers.beat('new', { interactive: {} });
      const stale = await claimClosing(on.store, 'dead', batch.id);
      await on.store.workers.reap(0);
      const closing = await claimClosing(on.other, 'new', batch.id);
      expect(closing.epoch).toBe(stale.epoch + 1);
      const all = range(0, 8).map((line) => failure(batch, line));
      expect(await on.store.batches.closeGate('dead', stale)).toBe(false);
      expect(await on.store.results.recordMissing('dead', stale, all, start)).toBe(false);
      expect(await on.other.results.recordMissing('new', closing, all, start)).toBe(true);
      expect(await on.store.batches.publish('dead', stale, none, start)).toBe('fenced');
      expect(await on.other.batches.publish('new', closing, none, start)).toBe('published');
    });
  });

  describe('publishing', () => {
    test('completes a batch: files, status, time and summary in one transaction', async () => {
      const batch = await addBatch(on.store);
      await claimOf(on.store, 'w', batch.id, { count: 9 });
      const results = range(0, 8).map((line) => (line < 5 ? output(batch, line) : failure(batch, line)));
      await on.store.results.record('w', results, [], start);
      const closing = await claimClosing(on.store, 'c', batch.id);
      const files = {
        output: makeFile({ purpose: 'batch_output' }),
        errors: makeFile({ purpose: 'batch_output', expiresAt: start + 99 }),
      };
      expect(await on.store.batches.publish('c', closing, files, start + 50)).toBe('published');
      expect(await on.store.batches.find(batch.id)).toEqual({
        ...batch,
        status: 'completed',
        closing: 'completed',
        ok: 5,
        err: 3,
        inProgressAt: start,
        completedAt: start + 50,
        outputFileId: files.output.id,
        errorFileId: files.errors.id,
      });
      expect(await on.store.files.get('org_a', files.output.id, start)).toEqual(files.output);
      expect(await on.store.files.get('org_a', files.errors.id, start)).toEqual(files.errors);
      expect(await on.store.batches.publish('c', closing, files, start + 60)).toBe('fenced');
      expect(await batchesToClose(on.store)).toEqual([]);
    });

    test.each([
      ['cancelled', 'cancelledAt'],
      ['expired', 'expiredAt'],
      ['failed', 'failedAt'],
    ] as const)('ends an unclaimed batch as %s', async (end, instant) => {
      const batch = await addBatch(on.store);
      if (end === 'cancelled') await on.store.batches.cancel('org_a', batch.id, start, 0);
      if (end === 'expired') await on.store.batches.expire(batch.expiresAt, 10);
      if (end === 'failed')
        await on.store.batches.fail(batch.id, { code: 'x', message: 'y', param: null, line: null }, start);
      const closed = await closeBatch(on.store, batch.id, start + 50);
      expect(closed).toMatchObject({ status: end, [instant]: start + 50, ok: 0, err: 8, inProgressAt: null });
      const instants = [closed.completedAt, closed.failedAt, closed.expiredAt, closed.cancelledAt];
      expect(instants.filter((at) => at !== null)).toHaveLength(1);
    });

    test('is refused while a line is missing, and then writes nothing', async () => {
      const batch = await cancelled((made) => [output(made, 0)]);
      const closing = await claimClosing(on.store, 'c', batch.id);
      const files = { output: makeFile({ purpose: 'batch_output' }), errors: null };
      expect(await on.store.batches.publish('c', closing, files, start)).toBe('incomplete');
      expect(await on.store.files.find(files.output.id)).toBeUndefined();
      expect((await on.store.batches.find(batch.id))?.status).toBe('cancelling');
    });

    test.each<[string, Partial<Usage> & { requests?: number }]>([
      ['requests', { requests: 1 }],
      ['input', { inputTokens: 1 }],
      ['cached', { cachedTokens: 1 }],
      ['output', { outputTokens: 1 }],
    ])('is refused if the ledger does not match on %s', async (_, { requests = 0, ...tokens }) => {
      const batch = await addBatch(on.store);
      await claimOf(on.store, 'w', batch.id, { count: 9 });
      const usage = { ...noUsage, ...tokens };
      const foreign = {
        sourceId: batch.id,
        orgId: 'org_a',
        keyId: null,
        model: 'm9',
        day,
        requests,
        usage,
        amount: 1,
      };
      await addToLedger(on.store, [foreign]);
      const results = range(0, 8).map((line) => output(batch, line));
      await on.store.results.record('w', results, [], start);
      const closing = await claimClosing(on.store, 'c', batch.id);
      expect(await on.store.batches.publish('c', closing, none, start)).toBe('incomplete');
    });

    test.each([
      ['failed', 'failedAt', 'in_progress'],
      ['cancelled', 'cancelledAt', 'cancelling'],
    ] as const)('with an error ends an inconsistent batch as %s', async (end, instant, status) => {
      const batch = await addBatch(on.store);
      await claimOf(on.store, 'w', batch.id, { count: 9 });
      await on.store.results.record('w', [output(batch, 0)], [], start);
      if (end === 'cancelled') await on.store.batches.cancel('org_a', batch.id, start, 0);
      else await on.store.batches.expire(batch.expiresAt, 10);
      expect((await on.store.batches.find(batch.id))?.status).toBe(status);
      const closing = await claimClosing(on.store, 'c', batch.id);
      const fault = { code: 'batch_failed', message: 'They differ.', param: null, line: null };
      const files = { output: makeFile({ purpose: 'batch_output' }), errors: null };
      const publish = (worker: string, epoch: number) =>
        on.store.batches.publish(worker, { ...closing, epoch }, files, start + 50, fault);
      expect(await publish('d', closing.epoch)).toBe('fenced');
      expect(await publish('c', closing.epoch + 1)).toBe('fenced');
      expect(await publish('c', closing.epoch)).toBe('published');
      expect(await on.store.batches.find(batch.id)).toMatchObject({
        status: end,
        [instant]: start + 50,
        errors: [fault],
        outputFileId: files.output.id,
        ok: 1,
        err: 0,
      });
      expect(await publish('c', closing.epoch)).toBe('fenced');
    });

    test('happens once when two processes publish concurrently', async () => {
      const batch = await cancelled((made) => range(0, 8).map((line) => output(made, line)));
      const closing = await claimClosing(on.store, 'c', batch.id);
      const outcomes = await Promise.all(
        [on.store, on.other, on.store].map((store) => store.batches.publish('c', closing, none, start)),
      );
      expect(outcomes.toSorted()).toEqual(['fenced', 'fenced', 'published']);
    });
  });

  describe('the error summary', () => {
    const body = (value: unknown) => new TextEncoder().encode(JSON.stringify(value));

    test('counts codes, the most frequent first, each with its first message, before and after the end alike', async () => {
      const batch = await cancelled((made) => [
        failure(made, 0, { code: 'upstream_timeout' }),
        output(made, 1),
        failure(made, 2, {
          code: 'poison_request',
          body: body({ error: null, response: { body: { error: { message: 'Boom.' } } } }),
        }),
        failure(made, 3, { code: 'upstream_timeout' }),
        failure(made, 4, { code: 'schema_not_met', body: new TextEncoder().encode('not JSON') }),
      ]);
      const live = [
        { code: 'upstream_timeout', count: 2, example: 'Line 0 failed.' },
        { code: 'poison_request', count: 1, example: 'Boom.' },
        { code: 'schema_not_met', count: 1, example: '' },
      ];
      expect((await on.store.batches.snapshot(batch.id))?.errorSummary).toEqual(live);
      await closeBatch(on.store, batch.id);
      const stored = [{ code: 'batch_cancelled', count: 3, example: 'Line 5 failed.' }, ...live];
      expect(await on.store.results.errorSummary(batch.id)).toEqual(stored);
      while (!(await on.store.results.purge(batch.id, 100)));
      expect(await on.store.results.errorSummary(batch.id)).toEqual(stored);
    });

    test('is empty without errors and for unknown batches', async () => {
      const batch = await cancelled((made) => [output(made, 0)]);
      expect(await on.store.results.errorSummary(batch.id)).toEqual([]);
      expect(await on.store.results.errorSummary('batch_unknown')).toEqual([]);
    });
  });

  describe('purging', () => {
    test('deletes the rows of finished batches from the front, in slices', async () => {
      const batch = await cancelled((made) => [output(made, 3), output(made, 1)]);
      const open = await addBatch(on.store);
      expect(await on.store.results.leftovers(10)).toEqual([]);
      await closeBatch(on.store, batch.id);
      expect(await on.store.results.leftovers(10)).toEqual([batch.id]);
      const left = async () =>
        [
          ...(await on.store.results.tail(batch.id, 'errors', 0, { rows: 10, bytes: 1e9 })),
          ...(await on.store.results.tail(batch.id, 'output', 0, { rows: 10, bytes: 1e9 })),
        ].map((row) => row.n);
      expect(await on.store.results.purge(batch.id, 3)).toBe(false);
      expect(await left()).toEqual([4, 5, 6, 1, 2]);
      expect(await on.store.results.leftovers(10)).toEqual([batch.id]);
      expect(await on.store.results.purge(batch.id, 4)).toBe(false);
      expect(await left()).toEqual([2]);
      expect(await on.store.results.purge(batch.id, 100)).toBe(true);
      expect(await left()).toEqual([]);
      expect(await on.store.results.leftovers(10)).toEqual([]);
      expect(await on.store.results.purge(batch.id, 100)).toBe(true);
      expect(await on.store.batches.find(batch.id)).toMatchObject({ status: 'cancelled', ok: 2, err: 6 });
      expect(await on.store.ledger.forSources([batch.id])).toMatchObject([{ requests: 2 }]);
      expect(await claimOf(on.store, 'w', open.id, { count: 9 })).toHaveLength(2);
    });

    test('is refused for a batch that is not finished', async () => {
      const batch = await cancelled((made) => [output(made, 0)]);
      await expect(on.store.results.purge(batch.id, 10)).rejects.toThrow('its results are still needed');
      expect(await on.store.results.tail(batch.id, 'output', 0, { rows: 10, bytes: 1e9 })).toHaveLength(1);
      expect(await on.store.results.purge('batch_unknown', 10)).toBe(true);
    });

    test('lists unpurged batches oldest first, a few at a time', async () => {
      const ids = [];
      for (let i = 0; i < 3; i++) ids.push((await cancelled()).id);
      for (const id of ids.toReversed()) await closeBatch(on.store, id);
      expect(await on.store.results.leftovers(2)).toEqual(ids.slice(0, 2));
    });
  });
}

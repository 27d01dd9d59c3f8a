import { describe, expect, test } from 'vitest';
import type { Batch } from '../../../src/core/batch.ts';
import type { LineResult } from '../../../src/store/contract/results.ts';
import type { Stores } from '../conformance.ts';
import {
  addBatch,
  claimClosing,
  closeBatch,
  day,
  failure,
  hour,
  lease,
  output,
  range,
  start,
  text,
  claimOf,
  batchesToClose,
} from '../fixtures.ts';

export function recordTests(on: Stores): void {
  /** Running batch, all of whose chunks are leased by `w`. */
  const running = async (fields: Partial<Batch> = {}) => {
    const batch = await addBatch(on.store, fields);
    const chunks = await claimOf(on.store, 'w', batch.id, { count: 1_000 });
    return { batch, leases: chunks.map(lease) };
  };
  const record = (results: LineResult[], now = start) => on.store.results.record('w', results, [], now);
  const tail = (
    batch: Batch,
    stream: 'output' | 'errors' = 'output',
    after = 0,
    rows = 10_000,
    bytes = 1e9,
  ) => on.store.results.tail(batch.id, stream, after, { rows, bytes });

  describe('recording', () => {
    test('counts, numbers and stores results', async () => {
      const { batch } = await running();
      expect(await record([output(batch, 5), failure(batch, 1), output(batch, 0)])).toEqual([
        { batchId: batch.id, orgId: batch.orgId, kept: 3, closed: false, complete: false },
      ]);
      await record([failure(batch, 2), output(batch, 7)]);
      expect(await on.store.batches.find(batch.id)).toMatchObject({
        ok: 3,
        err: 2,
        closing: null,
        status: 'in_progress',
      });
      expect((await tail(batch)).map(({ n, line, body }) => [n, line, text(body)])).toEqual([
        [1, 5, '{"line":5}'],
        [2, 0, '{"line":0}'],
        [3, 7, '{"line":7}'],
      ]);
      expect((await tail(batch, 'errors')).map(({ n, line }) => [n, line])).toEqual([
        [1, 1],
        [2, 2],
      ]);
    });

    test('returns the runs of lines, which lines are in flight, and marks of a range', async () => {
      const { batch } = await running();
      const failures = [{ at: start, ms: 3, code: 'upstream_error', server: 'gpu' }] as const;
      const run = { at: start + 5, ms: 12, server: 'gpu', nano: 7, failures };
      expect(await on.store.results.inFlight(batch.id)).toHaveLength(batch.total);
      await record([output(batch, 1, { run, attempts: 2 }), failure(batch, 3)]);
      const found = await on.store.results.ofLines(batch.id, [0, 1, 3]);
      const byLine = new Map(found.map((row) => [row.line, row]));
      expect([...byLine.keys()].toSorted((a, b) => a - b)).toEqual([1, 3]);
      expect(byLine.get(1)).toMatchObject({ run, attempts: 2, code: null });
      expect(text(byLine.get(1)!.body)).toBe('{"line":1}');
      expect(byLine.get(3)!.run).toBeNull();
      expect((await tail(batch))[0]).toMatchObject({ run, line: 1 });
      const bytes = byLine.get(3)!.body.length;
      expect(await on.store.results.marks(batch.id, 2, 4)).toEqual([
        { line: 3, code: byLine.get(3)!.code, bytes },
      ]);
      expect(await on.store.results.inFlight(batch.id)).toEqual(
        range(0, batch.total).filter((line) => line !== 1 && line !== 3),
      );
    });

    test('returns bodies byte for byte', async () => {
      const { batch } = await running();
      const bodies = [[], [0], [0xff, 0xfe, 0x00, 0xc3, 0x28], range(0, 256)].map((bytes) =>
        Uint8Array.from(bytes),
      );
      const big = new Uint8Array(3_000_000).fill(7);
      // A view into a larger buffer, like bodies cut from a stream.
      const view = new Uint8Array(Uint8Array.from([9, 9, 1, 2, 3, 9]).buffer, 2, 3);
      const all = [...bodies, big, view];
      await record(all.map((body, line) => output(batch, line, { body })));
      const hex = (body: Uint8Array) => Buffer.from(body).toString('hex');
      expect((await tail(batch)).map((row) => hex(row.body))).toEqual(all.map(hex));
      expect(view.byteLength).toBe(3);
    });

    test('keeps the first result of a line: duplicates in one call, later ones, and ones in the other stream', async () => {
      const { batch } = await running();
      const twin = { body: new TextEncoder().encode('"twin"') };
      expect(await record([output(batch, 1), output(batch, 1, twin), output(batch, 2)])).toMatchObject([
        { kept: 2 },
      ]);
      expect(await record([failure(batch, 1), output(batch, 2, twin), output(batch, 3)])).toMatchObject([
        { kept: 1 },
      ]);
      expect(await record([output(batch, 3, twin)])).toEqual([
        { batchId: batch.id, orgId: batch.orgId, kept: 0, closed: false, complete: false },
      ]);
      expect((await tail(batch)).map(({ n, body }) => [n, text(body)])).toEqual([
        [1, '{"line":1}'],
        [2, '{"line":2}'],
        [3, '{"line":3}'],
      ]);
      expect(await on.store.batches.find(batch.id)).toMatchObject({ ok: 3, err: 0 });
    });

    test('decides that a batch is complete with its last line', async () => {
      const { batch, leases } = await running();
      await record(range(0, 7).map((line) => (line < 3 ? output(batch, line) : failure(batch, line))));
      expect(await batchesToClose(on.store)).toEqual([]);
      expect(await on.store.results.record('w', [output(batch, 7)], leases, start)).toEqual([
        { batchId: batch.id, orgId: batch.orgId, kept: 1, closed: false, complete: true },
      ]);
      expect(await on.store.batches.find(batch.id)).toMatchObject({
        ok: 4,
        err: 4,
        closing: 'completed',
        status: 'in_progress',
      });
      expect(await batchesToClose(on.store)).toEqual([batch.id]);
      expect(await record([output(batch, 7)])).toMatchObject([{ kept: 0 }]);
    });

    test('does not change an end decided before', async () => {
      const { batch } = await running();
      await on.store.batches.cancel('org_a', batch.id, start, 2_000);
      expect(
        await record(
          range(0, 8).map((line) => output(batch, line)),
          start + 1_999,
        ),
      ).toMatchObject([{ kept: 8, closed: false, complete: false }]);
      expect(await on.store.batches.find(batch.id)).toMatchObject({
        ok: 8,
        closing: 'cancelled',
        status: 'cancelling',
      });
    });

    test('is refused after the gate, before the start, after the end, and for unknown batches', async () => {
      const { batch } = await running();
      const closed = [{ batchId: batch.id, orgId: batch.orgId, kept: 0, closed: true, complete: false }];
      expect(await record([output(batch, 0)], batch.acceptUntil)).toEqual(closed);
      await on.store.batches.cancel('org_a', batch.id, start, 2_000);
      expect(await record([output(batch, 0)], start + 2_000)).toEqual(closed);
      const closing = await claimClosing(on.store, 'c', batch.id);
      await on.store.batches.closeGate('c', closing);
      expect(await record([output(batch, 0)], start)).toEqual(closed);
      await on.store.batches.release('c', [closing]);
      await closeBatch(on.store, batch.id);
      expect(await record([output(batch, 0)], start)).toEqual(closed);
      expect(await tail(batch)).toEqual([]);
      const waiting = await addBatch(on.store);
      expect(await record([output(waiting, 0)])).toEqual([
        { batchId: waiting.id, orgId: waiting.orgId, kept: 0, closed: true, complete: false },
      ]);
      expect(await record([output('batch_unknown', 0)])).toEqual([
        { batchId: 'batch_unknown', orgId: null, kept: 0, closed: true, complete: false },
      ]);
      expect(await record([])).toEqual([]);
    });

    test('reports each batch of a call separately', async () => {
      const [a, b, c] = [await running(), await running(), await running()];
      await on.store.batches.cancel('org_a', b.batch.id, start, 0);
      const outcomes = await on.store.results.record(
        'w',
        [output(c.batch, 0), output(b.batch, 0), output(a.batch, 0), output(c.batch, 1)],
        a.leases,
        start,
      );
      expect(outcomes).toEqual([
        { batchId: a.batch.id, orgId: a.batch.orgId, kept: 1, closed: false, complete: false },
        { batchId: b.batch.id, orgId: b.batch.orgId, kept: 0, closed: true, complete: false },
        { batchId: c.batch.id, orgId: c.batch.orgId, kept: 2, closed: false, complete: false },
      ]);
    });

    test('accepts thousands of lines at once', async () => {
      const { batch } = await running({ total: 5_000 });
      expect(await record(range(0, 5_000).map((line) => output(batch, line)))).toMatchObject([
        { kept: 5_000 },
      ]);
      expect((await tail(batch)).map((row) => row.n)).toEqual(range(1, 5_001));
    });

    test('finishes chunks, but only those still leased', async () => {
      const { batch, leases } = await running({ total: 12 });
      const [first, second, third] = leases;
      await on.store.batches.release('w', [second!]);
      await claimOf(on.store, 'v', batch.id);
      await on.store.results.record(
        'w',
        [output(batch, 0)],
        [first!, second!, { ...third!, epoch: 7 }],
        start,
      );
      for (const worker of ['w', 'v'])
        expect(await on.store.batches.release(worker, await on.store.workers.leases(worker))).toBe(1);
      expect((await claimOf(on.store, 'v', batch.id, { count: 9 })).map(({ seq }) => seq)).toEqual([2, 3]);
    });
  });

  describe('the ledger of a batch', () => {
    test('is the sum of its outputs, by model and hour', async () => {
      const { batch } = await running();
      const usage = {
        inputTokens: 100,
        cachedTokens: 0,
        cacheWriteTokens: 0,
        outputTokens: 1,
        reasoningTokens: 0,
      };
      await record([
        output(batch, 0),
        output(batch, 1),
        failure(batch, 2),
        output(batch, 3, { model: 'm2', usage }),
      ]);
      await record([output(batch, 0), output(batch, 4)]);
      await record([output(batch, 5)], start + 14 * hour);
      const row = {
        sourceId: batch.id,
        orgId: 'org_a',
        keyId: batch.keyId,
        model: 'm1',
        endpoint: batch.endpoint,
        tag: '',
      };
      expect(await on.store.ledger.forSources([batch.id])).toEqual([
        {
          ...row,
          day: `${day}T10`,
          amount: 3_000,
          requests: 3,
          usage: {
            inputTokens: 30,
            cachedTokens: 12,
            cacheWriteTokens: 0,
            outputTokens: 9,
            reasoningTokens: 6,
          },
        },
        {
          ...row,
          day: '2026-11-22T00',
          amount: 1_000,
          requests: 1,
          usage: {
            inputTokens: 10,
            cachedTokens: 4,
            cacheWriteTokens: 0,
            outputTokens: 3,
            reasoningTokens: 2,
          },
        },
        { ...row, model: 'm2', day: `${day}T10`, amount: 0, requests: 1, usage },
      ]);
    });

    test('is empty when every line failed', async () => {
      const { batch } = await running();
      await record(range(0, 8).map((line) => failure(batch, line)));
      expect(await on.store.ledger.forSources([batch.id])).toEqual([]);
    });
  });

  describe('reading results', () => {
    test('continues after a line, in pages', async () => {
      const { batch } = await running();
      await record(range(0, 6).map((line) => output(batch, line)));
      expect((await tail(batch, 'output', 2, 3)).map((row) => row.n)).toEqual([3, 4, 5]);
      expect((await tail(batch, 'output', 5, 3)).map((row) => row.n)).toEqual([6]);
      expect(await tail(batch, 'output', 6)).toEqual([]);
      expect(await tail(batch, 'errors')).toEqual([]);
    });

    test('returns no more than fits, and at least one row', async () => {
      const { batch } = await running();
      const sizes = [10, 20, 5, 100, 1, 1];
      await record(sizes.map((size, line) => output(batch, line, { body: new Uint8Array(size) })));
      const read = async (after: number, rows: number, bytes: number) =>
        (await tail(batch, 'output', after, rows, bytes)).map((row) => row.n);
      expect(await read(0, 10, 30)).toEqual([1, 2]);
      expect(await read(0, 10, 31)).toEqual([1, 2, 3]);
      expect(await read(3, 10, 50)).toEqual([4]);
      expect(await read(4, 10, 50)).toEqual([5, 6]);
      expect(await read(0, 1, 1_000)).toEqual([1]);
      expect(await read(6, 10, 50)).toEqual([]);
    });

    test('finds the missing lines', async () => {
      const { batch } = await running();
      await record([output(batch, 0), failure(batch, 3), output(batch, 7)]);
      expect(await on.store.results.missing(batch.id, 0, 10)).toEqual([1, 2, 4, 5, 6]);
      expect(await on.store.results.missing(batch.id, 0, 2)).toEqual([1, 2]);
      expect(await on.store.results.missing(batch.id, 2, 2)).toEqual([2, 4]);
      await record(range(0, 8).map((line) => output(batch, line)));
      expect(await on.store.results.missing(batch.id, 0, 10)).toEqual([]);
      expect(await on.store.results.missing('batch_unknown', 0, 10)).toEqual([]);
    });
  });

  describe('recording concurrently', () => {
    test('keeps each line once, numbers results without gaps, and bills each once', async () => {
      const { batch } = await running({ total: 400 });
      let seen = 0;
      const watch = async () => {
        while (seen < 380) {
          const rows = await tail(batch, 'output', seen);
          // Numbers appear in order, and never below one already seen.
          expect(rows.map((row) => row.n)).toEqual(range(seen + 1, seen + 1 + rows.length));
          seen += rows.length;
        }
      };
      const write = async (side: number) => {
        for (const first of range(0, 20).map((i) => ((i + side * 7) % 20) * 20)) {
          const lines = range(first, first + 20).map((line) =>
            line % 20 === 19 ? failure(batch, line) : output(batch, line),
          );
          await (side % 2 === 0 ? on.store : on.other).results.record(`w${side}`, lines, [], start);
        }
      };
      await Promise.all([watch(), write(0), write(1), write(2), write(3)]);
      expect(await on.store.batches.find(batch.id)).toMatchObject({ ok: 380, err: 20, closing: 'completed' });
      const lines = [...(await tail(batch)), ...(await tail(batch, 'errors'))].map((row) => row.line);
      expect(lines.toSorted((a, b) => a - b)).toEqual(range(0, 400));
      expect(await on.store.ledger.forSources([batch.id])).toMatchObject([
        { requests: 380, usage: { inputTokens: 3_800 } },
      ]);
    });

    test('never deadlocks over several batches', async () => {
      const [a, b] = [await running({ total: 100 }), await running({ total: 100 })];
      await Promise.all(
        range(0, 100).map((line) => {
          const results = [output(a.batch, line), output(b.batch, line)];
          const store = line % 2 === 0 ? on.store : on.other;
          return store.results.record('w', line % 3 === 0 ? results : results.toReversed(), [], start);
        }),
      );
      for (const { batch } of [a, b])
        expect(await on.store.batches.find(batch.id)).toMatchObject({ ok: 100, closing: 'completed' });
    });
  });
}

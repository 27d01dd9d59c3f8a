import { beforeEach, describe, expect, it } from 'vitest';
import { createManualClock, type ManualClock } from '../../../test/support/manual-clock.ts';
import { silent } from '../../base/log.ts';
import { noCost } from '../../core/price.ts';
import { noUsage } from '../../core/usage.ts';
import type { Store } from '../../store/store.ts';
import type { Lease } from '../../store/contract/claim.ts';
import type { LineResult, RecordOutcome } from '../../store/contract/results.ts';
import { StoreTime } from '../../base/store-time.ts';
import { Recorder } from './recorder.ts';

interface Call {
  rows: number[];
  finished: number[];
  succeed(outcomes?: RecordOutcome[]): Promise<void>;
  fail(): Promise<void>;
}

const settle = () => new Promise<void>((resolve) => setImmediate(resolve));

describe('Recorder', () => {
  let clock: ManualClock;
  let calls: Call[];
  let recorded: { closed: string[]; finished: number[] }[];
  let refused: string[];
  let away: boolean;
  let recorder: Recorder;

  beforeEach(() => {
    clock = createManualClock();
    calls = [];
    recorded = [];
    refused = [];
    away = true;
    const record: Store['results']['record'] = (_worker, results, finished) =>
      new Promise((resolve, reject) => {
        calls.push({
          rows: results.map((result) => result.line),
          finished: finished.map((lease) => lease.seq),
          succeed: (outcomes = []) => (resolve(outcomes), settle()),
          fail: () => (reject(new Error('the database is away')), settle()),
        });
      });
    recorder = new Recorder({
      store: { results: { record } } as Store,
      worker: 'wrk_1',
      clock,
      time: new StoreTime(clock),
      billingClock: clock,
      log: silent,
      onRecorded: (outcomes, finished) =>
        recorded.push({
          closed: outcomes.filter(({ closed }) => closed).map(({ batchId }) => batchId),
          finished: finished.map((lease) => lease.seq),
        }),
      onRefused: async (batchId) => void refused.push(batchId),
      isDatabaseDown: async () => away,
    });
  });

  const row = (line: number, bytes = 10, batchId = 'b'): LineResult => ({
    batchId,
    line,
    stream: 'output',
    body: new Uint8Array(bytes),
    model: 'm',
    usage: noUsage,
    cost: noCost,
    attempts: 1,
    code: null,
  });
  const add = (from: number, to: number) => {
    for (let line = from; line < to; line++) recorder.add(row(line));
  };
  const lease = (seq: number): Lease => ({ batchId: 'b', seq, epoch: 1 });
  const numbers = (from: number, to: number) => Array.from({ length: to - from }, (_, at) => from + at);

  it('writes the results of 50 ms in one group', async () => {
    add(0, 2);
    await clock.advance(49);
    recorder.add(row(2));
    expect(calls).toHaveLength(0);
    await clock.advance(1);
    expect(calls.map((call) => call.rows)).toEqual([[0, 1, 2]]);
  });

  it('does not wait when 256 are there', async () => {
    add(0, 255);
    expect(calls).toHaveLength(0);
    add(255, 257);
    await settle();
    expect(calls.map((call) => call.rows)).toEqual([numbers(0, 256)]);
  });

  it('has one flush under way, and takes the next 256 when it is done', async () => {
    add(0, 600);
    await clock.advance(1_000);
    expect(calls).toHaveLength(1);
    await calls[0]!.succeed();
    await calls[1]!.succeed();
    await clock.advance(50);
    expect(calls.map((call) => call.rows.length)).toEqual([256, 256, 88]);
  });

  it('finishes a chunk with its last row, not before', async () => {
    add(0, 600);
    // Its rows are 600, of which the first group has 256 and the second as many.
    recorder.finish(lease(1));
    add(600, 601);
    await settle();
    await calls[0]!.succeed();
    await calls[1]!.succeed();
    await clock.advance(50);
    await calls[2]!.succeed([{ batchId: 'b', orgId: 'org', kept: 89, closed: false, complete: false }]);
    expect(calls.map((call) => call.rows.length)).toEqual([256, 256, 89]);
    expect(calls.map((call) => call.finished)).toEqual([[], [], [1]]);
    expect(recorded.map((each) => each.finished)).toEqual([[], [], [1]]);
  });

  it('finishes each of several chunks with the group that has its last row', async () => {
    add(0, 10);
    recorder.finish(lease(1));
    add(10, 512);
    recorder.finish(lease(2));
    add(512, 530);
    recorder.finish(lease(3));
    await settle();
    await calls[0]!.succeed();
    await calls[1]!.succeed();
    await clock.advance(50);
    await calls[2]!.succeed();
    expect(calls.map((call) => call.finished)).toEqual([[1], [2], [3]]);
  });

  it('finishes chunks although rows keep coming', async () => {
    add(0, 10);
    recorder.finish(lease(1));
    add(10, 1_000);
    await settle();
    expect(calls[0]!.finished).toEqual([1]);
  });

  it('writes a finished chunk without rows', async () => {
    recorder.finish(lease(4));
    await clock.advance(50);
    expect(calls[0]).toMatchObject({ rows: [], finished: [4] });
  });

  it('retries the same rows on a failing database, and loses none that were added meanwhile', async () => {
    add(0, 2);
    await clock.advance(50);
    await calls[0]!.fail();
    add(2, 3);
    const failedAt = clock.now();
    await clock.advance(499);
    expect([calls.length, recorder.stuckSince]).toEqual([1, failedAt]);
    await clock.advance(1);
    await calls[1]!.succeed();
    expect(recorder.stuckSince).toBeNull();
    await clock.advance(50);
    expect(calls.map((call) => call.rows)).toEqual([[0, 1], [0, 1], [2]]);
  });

  describe('with a row that the database refuses', () => {
    /** Answers every call until nothing more is asked: line 7 is refused, the rest taken. */
    const answerAll = async () => {
      for (let at = 0; at < calls.length; at++) {
        await (calls[at]!.rows.includes(7) ? calls[at]!.fail() : calls[at]!.succeed());
        await clock.advance(5_000);
      }
    };

    beforeEach(() => {
      away = false;
      add(0, 8);
      recorder.add(row(100, 10, 'other'));
      recorder.finish(lease(1));
      recorder.finish({ batchId: 'other', seq: 2, epoch: 1 });
    });

    it('records the other rows, reports the batch and does not finish its chunk', async () => {
      const flushed = recorder.flush();
      await answerAll();
      await flushed;
      const taken = calls.filter((call) => !call.rows.includes(7));
      expect(taken.flatMap((call) => call.rows).toSorted((a, b) => a - b)).toEqual([...numbers(0, 7), 100]);
      expect(taken.flatMap((call) => call.finished)).toEqual([2]);
      expect(refused).toEqual(['b']);
      // Neither lease is held any longer: the one that was not finished goes back.
      expect(recorded).toEqual([{ closed: [], finished: [1, 2] }]);
      expect(calls.filter((call) => call.rows.includes(7)).length).toBeLessThan(9);
    });

    it('records another batch in one go', async () => {
      recorder.add(row(101, 10, 'other'));
      const flushed = recorder.flush();
      await answerAll();
      await flushed;
      const ofOther = calls.filter(({ rows }) => rows.includes(100) && !rows.includes(7));
      expect(ofOther).toMatchObject([{ rows: [100, 101], finished: [2] }]);
    });

    it('does not mistake an outage for a rejection', async () => {
      away = true;
      const flushed = recorder.flush();
      await settle();
      for (let n = 0; n < 10; n++) {
        await calls.at(-1)!.fail();
        await clock.advance(5_000);
      }
      expect(calls.map((call) => call.rows.length)).toEqual(Array.from({ length: 11 }, () => 9));
      await calls.at(-1)!.succeed();
      await flushed;
      expect(refused).toEqual([]);
    });
  });

  it('reports batches that take no more results', async () => {
    add(0, 1);
    await clock.advance(50);
    await calls[0]!.succeed([
      { batchId: 'b', orgId: 'org', kept: 0, closed: true, complete: false },
      { batchId: 'c', orgId: 'org', kept: 1, closed: false, complete: false },
    ]);
    expect(recorded).toEqual([{ closed: ['b'], finished: [] }]);
  });

  it('has room for 4,096 rows, or 64 MB', async () => {
    add(0, 256 + 4_095);
    await settle();
    expect(recorder.hasRoom).toBe(true);
    add(0, 1);
    expect(recorder.hasRoom).toBe(false);
    await calls[0]!.succeed();
    expect(recorder.hasRoom).toBe(true);
    recorder.add(row(9, 64 * 1024 * 1024));
    expect(recorder.hasRoom).toBe(false);
  });

  it('flushes the results so far at once, and none that are added meanwhile', async () => {
    add(0, 3);
    recorder.finish(lease(1));
    let flushed = false;
    void recorder.flush().then(() => (flushed = true));
    await settle();
    expect(calls[0]).toMatchObject({ rows: [0, 1, 2], finished: [1] });
    add(3, 4);
    expect(flushed).toBe(false);
    await calls[0]!.succeed();
    expect(flushed).toBe(true);
  });

  it('flushes nothing when nothing is there', async () => {
    await recorder.flush();
    expect(calls).toHaveLength(0);
  });

  it('can give up on a database that stays away', async () => {
    add(0, 1);
    const flushed = recorder.flush();
    await settle();
    await calls[0]!.fail();
    recorder.abandon();
    await flushed;
    add(1, 2);
    await clock.advance(10_000);
    expect(calls).toHaveLength(1);
  });
});

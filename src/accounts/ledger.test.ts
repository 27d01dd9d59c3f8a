import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { beforeEach, describe, expect, it } from 'vitest';
import { createAccountStore, type AccountStore } from '../../test/server/support/account-store.ts';
import { createManualClock, type ManualClock } from '../../test/support/manual-clock.ts';
import { type Log, silent } from '../base/log.ts';
import { createLedger } from './ledger.ts';

let clock: ManualClock;
let store: AccountStore;
let ledger: ReturnType<typeof createLedger>;
let away: boolean;
const isAway = async () => away;
const caller = { orgId: 'org_1', keyId: 'key_1', scopes: [], models: null };
const prices = { input: 100_000_000, cachedInput: 25_000_000, output: 400_000_000 };
const usage = { inputTokens: 1000, cachedTokens: 200, outputTokens: 50, reasoningTokens: 0 };

const charge = (requestId: string) => ledger.charge({ caller, requestId, model: 'tiny', usage, prices });

beforeEach(() => {
  clock = createManualClock(Date.UTC(2026, 10, 21, 23, 59, 59, 990));
  store = createAccountStore();
  away = false;
  ledger = createLedger({ ledger: store.ledger, clock, log: silent, isAway });
});

describe('the ledger of synchronous requests', () => {
  it('writes one row per request with its day and its full price', async () => {
    charge('req_1');
    await clock.advance(50);
    expect(store.written).toEqual([
      [
        {
          sourceId: 'req_1',
          orgId: 'org_1',
          keyId: 'key_1',
          model: 'tiny',
          day: '2026-11-21',
          requests: 1,
          usage,
          // 800 x 0.10 + 200 x 0.025 + 50 x 0.40 USD per million
          amount: 105_000,
        },
      ],
    ]);
  });

  it('writes a group 50 ms after its first charge', async () => {
    charge('req_1');
    await clock.advance(30);
    charge('req_2');
    await clock.advance(19);
    expect(store.written).toEqual([]);
    await clock.advance(1);
    expect(store.written.map((group) => group.length)).toEqual([2]);
  });

  it('writes a group of 256 at once', async () => {
    for (let n = 0; n < 300; n++) charge(`req_${n}`);
    await clock.advance(0);
    expect(store.written.map((group) => group.length)).toEqual([256]);
    await clock.advance(50);
    expect(store.written.map((group) => group.length)).toEqual([256, 44]);
  });

  it('tries again while the database is unavailable', async () => {
    store.failLedger(3);
    charge('req_1');
    for (const ms of [50, 100, 400, 1600]) {
      await clock.advance(ms);
    }
    expect(store.written.flat()).toHaveLength(1);
  });

  it('logs the requests that the database rejects, and continues with the next', async () => {
    const errors: object[] = [];
    const log: Log = { ...silent, error: (fields) => void errors.push(fields) };
    ledger = createLedger({ ledger: store.ledger, clock, log, isAway });
    store.failLedger(4);
    charge('req_1');
    for (const ms of [50, 100, 400, 1600]) {
      await clock.advance(ms);
    }
    expect(errors).toEqual([expect.objectContaining({ requests: ['req_1'] })]);
    charge('req_2');
    await clock.advance(50);
    expect(store.written.flat().map((row) => row.sourceId)).toEqual(['req_2']);
  });

  it('F35, F36: keeps charges while the database is unavailable, and writes them in order', async () => {
    away = true;
    store.failLedger(Infinity);
    charge('req_0');
    for (let n = 1; n <= 300; n++) {
      await clock.advance(1_000);
      charge(`req_${n}`);
    }
    expect(store.written).toEqual([]);
    store.failLedger(0);
    await clock.advance(5_000);
    const names = Array.from({ length: 301 }, (_, n) => `req_${n}`);
    expect(store.written.flat().map((row) => row.sourceId)).toEqual(names);
    expect(store.written).toHaveLength(3);
    expect(clock.pending).toBe(0);
  });

  it('writes charges that a recovered database rejected at first', async () => {
    away = true;
    store.failLedger(Infinity);
    charge('req_1');
    await clock.advance(10_000);
    away = false;
    store.failLedger(3);
    await clock.advance(10_000);
    expect(store.written.flat().map((row) => row.sourceId)).toEqual(['req_1']);
  });

  it('logs all waiting requests when it stops while the database is unavailable', async () => {
    const named: unknown[] = [];
    const log: Log = {
      ...silent,
      error: (fields) => void named.push((fields as { requests: string[] }).requests),
    };
    ledger = createLedger({ ledger: store.ledger, clock, log, isAway });
    away = true;
    store.failLedger(Infinity);
    charge('req_1');
    await clock.advance(10_000);
    charge('req_2');
    await ledger.stop();
    expect([named, clock.pending]).toEqual([[['req_1', 'req_2']], 0]);
  });

  it('logs the requests that exceed the queue', async () => {
    const named: string[] = [];
    const log: Log = {
      ...silent,
      error: (fields) => void named.push(...(fields as { requests: string[] }).requests),
    };
    ledger = createLedger({ ledger: store.ledger, clock, log, isAway });
    away = true;
    store.failLedger(Infinity);
    for (let n = 0; n < 51_000; n++) charge(`req_${n}`);
    await clock.advance(50);
    store.failLedger(0);
    await clock.advance(100);
    const written = store.written.flat().map((row) => row.sourceId);
    expect([new Set([...written, ...named]).size, written.length + named.length]).toEqual([51_000, 51_000]);
    expect(written.length).toBeGreaterThan(49_000);
    expect(named.length).toBeGreaterThan(0);
  });

  it('writes waiting charges when it stops, and later ones at once', async () => {
    charge('req_1');
    await ledger.stop();
    charge('req_2');
    await clock.advance(0);
    expect(store.written.flat().map((row) => row.sourceId)).toEqual(['req_1', 'req_2']);
    expect(clock.pending).toBe(0);
  });

  it('writes charges after a stop without waiting ones, however often it is stopped', async () => {
    await ledger.stop();
    charge('req_1');
    await clock.advance(0);
    await ledger.stop();
    charge('req_2');
    await clock.advance(0);
    expect(store.written.flat().map((row) => row.sourceId)).toEqual(['req_1', 'req_2']);
    expect(clock.pending).toBe(0);
  });

  it('holds only the row of a request while it waits', async () => {
    setFlagsFromString('--expose-gc');
    const collectGarbage = runInNewContext('gc') as () => void;
    const asked = () => {
      const whole = { ...caller, body: 'of its request' };
      ledger.charge({ caller: whole, requestId: 'req_1', model: 'tiny', usage, prices });
      return new WeakRef(whole);
    };
    const kept = asked();
    // A WeakRef keeps its target until the end of the current turn of the event loop.
    await new Promise(setImmediate);
    collectGarbage();
    expect([kept.deref(), store.written]).toEqual([undefined, []]);
  });
});

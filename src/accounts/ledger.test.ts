import { beforeEach, describe, expect, it } from 'vitest';
import { createAccountStore, type AccountStore } from '../../test/server/support/account-store.ts';
import { createManualClock, type ManualClock } from '../../test/support/manual-clock.ts';
import { type Log, silent } from '../base/log.ts';
import type { LedgerCommit } from '../store/contract/accounts.ts';
import { createLedger } from './ledger.ts';
import { otherTag } from './tag-limit.ts';

let clock: ManualClock;
let store: AccountStore;
let ledger: ReturnType<typeof createLedger>;
let away: boolean;
let commits: LedgerCommit[];
let settled: number;
const reservation = { charge() {}, release() {}, settle: () => void settled++ };
let errors: { charges: { model: string; requests: number; amount: string }[] }[];
const caller = { orgId: 'org_1', keyId: 'key_1' };
const prices = { input: 100_000_000, cachedInput: 25_000_000, output: 400_000_000 };
const usage = {
  inputTokens: 1000,
  cachedTokens: 200,
  cacheWriteTokens: 0,
  outputTokens: 50,
  reasoningTokens: 0,
};
const endpoint = '/v1/chat/completions';

const charge = (model = 'tiny', fields = {}) =>
  ledger.charge({ caller, model, endpoint, tag: '', usage, prices, reservation, ...fields });
const written = () => store.written.flat().map(({ model, requests }) => [model, requests]);

beforeEach(() => {
  clock = createManualClock(Date.UTC(2026, 10, 21, 23, 59, 59, 950));
  store = createAccountStore();
  away = false;
  commits = [];
  errors = [];
  settled = 0;
  const log: Log = { ...silent, error: (fields) => void errors.push(fields as (typeof errors)[0]) };
  ledger = createLedger({
    ledger: {
      add(entries, commit) {
        commits.push(commit);
        return store.ledger.add(entries, commit);
      },
    },
    writer: 'wrk_1',
    clock,
    log,
    isDatabaseDown: async () => away,
  });
});

describe('the ledger of synchronous requests', () => {
  it('adds requests up by hour, key, model, endpoint and tag, at their full price', async () => {
    charge();
    charge();
    charge('tiny', { tag: 'red' });
    charge('tiny', { caller: { ...caller, keyId: 'key_2' } });
    charge('tiny', { endpoint: '/v1/messages' });
    charge('other');
    await clock.advance(50);
    charge();
    await clock.advance(50);
    const [first, ...others] = store.written[0]!;
    expect(first).toEqual({
      sourceId: 'single:key_1:/v1/chat/completions:',
      orgId: 'org_1',
      keyFamily: null,
      keyId: 'key_1',
      model: 'tiny',
      day: '2026-11-21T23',
      endpoint,
      tag: '',
      requests: 2,
      usage: { ...usage, inputTokens: 2000, cachedTokens: 400, outputTokens: 100 },
      // 800 x 0.10 + 200 x 0.025 + 50 x 0.40 USD per million, twice
      cost: { nano: 210_000, parts: 0 },
    });
    expect(others.map(({ requests }) => requests)).toEqual([1, 1, 1, 1]);
    expect(store.written[1]).toMatchObject([{ day: '2026-11-22T00', requests: 1 }]);
    expect(settled).toBe(7);
  });

  it('writes one commit in 50 ms, also of charges that come while one is written', async () => {
    const add = store.ledger.add.bind(store.ledger);
    store.ledger.add = async (...given) => {
      if (commits.length < 20) charge();
      await add(...given);
    };
    charge();
    for (let n = 1; n <= 5; n++) {
      await clock.advance(50);
      expect(commits).toHaveLength(n);
    }
    store.ledger.add = add;
    await ledger.stop();
    expect(written().reduce((sum, [, requests]) => sum + Number(requests), 0)).toBe(6);
  });

  it('writes no more rows than a few, whatever tags a client makes up', async () => {
    for (let n = 0; n < 1_000; n++) charge('tiny', { tag: `t${n}` });
    await clock.advance(50);
    const rows = store.written.flat();
    expect(rows).toHaveLength(101);
    expect(rows.find(({ tag }) => tag === otherTag)?.requests).toBe(900);
  });

  it('writes a group 50 ms after its first charge', async () => {
    charge();
    await clock.advance(30);
    charge('b');
    await clock.advance(19);
    expect(store.written).toEqual([]);
    await clock.advance(1);
    expect(store.written.map((group) => group.length)).toEqual([2]);
  });

  it('repeats a commit unchanged, with its number, while the database is unavailable', async () => {
    store.failLedger(3);
    charge();
    await clock.advance(60);
    charge();
    for (const ms of [100, 400, 1600, 50]) await clock.advance(ms);
    expect(written()).toEqual([
      ['tiny', 1],
      ['tiny', 1],
    ]);
    expect(commits.map(({ number }) => number)).toEqual([1, 1, 1, 1, 2]);
  });

  it('logs the charges that the database rejects, and continues with the next', async () => {
    store.failLedger(4);
    charge('a');
    for (const ms of [50, 100, 400, 1600]) await clock.advance(ms);
    expect(errors).toMatchObject([{ charges: [{ model: 'a', requests: 1, amount: '0.000105' }] }]);
    charge('b');
    await clock.advance(50);
    expect(written()).toEqual([['b', 1]]);
    expect(settled).toBe(2);
  });

  it('F35, F36: adds up charges while the database is unavailable', async () => {
    away = true;
    store.failLedger(Infinity);
    charge();
    for (let n = 1; n <= 300; n++) {
      await clock.advance(1_000);
      charge();
    }
    expect(store.written).toEqual([]);
    store.failLedger(0);
    await clock.advance(5_000);
    expect(written()).toEqual([
      ['tiny', 1],
      ['tiny', 300],
    ]);
    expect(clock.pending).toBe(0);
  });

  it('writes charges that a recovered database rejected at first', async () => {
    away = true;
    store.failLedger(Infinity);
    charge();
    await clock.advance(10_000);
    away = false;
    store.failLedger(3);
    await clock.advance(10_000);
    expect(written()).toEqual([['tiny', 1]]);
  });

  it('logs all waiting charges when it stops while the database is unavailable', async () => {
    away = true;
    store.failLedger(Infinity);
    charge('a');
    await clock.advance(10_000);
    charge('b');
    await ledger.stop();
    expect(errors).toMatchObject([{ charges: [{ model: 'a' }, { model: 'b' }] }]);
    expect(clock.pending).toBe(0);
  });

  it('logs the charges for which there is no room', async () => {
    away = true;
    store.failLedger(Infinity);
    for (let n = 0; n < 50_010; n++) charge(`m${n}`);
    await clock.advance(50);
    store.failLedger(0);
    await clock.advance(100);
    expect([written().length, errors.length]).toEqual([50_000, 10]);
  });

  it('writes waiting charges when it stops, and later ones at once', async () => {
    charge('a');
    await ledger.stop();
    charge('b');
    await clock.advance(0);
    await ledger.stop();
    charge('c');
    await clock.advance(0);
    expect(written()).toEqual([
      ['a', 1],
      ['b', 1],
      ['c', 1],
    ]);
    expect(clock.pending).toBe(0);
  });
});

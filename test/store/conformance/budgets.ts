import { describe, expect, test } from 'vitest';
import { serverActor } from '../../../src/core/audit.ts';
import type { Budget, BudgetPeriod } from '../../../src/core/budget.ts';
import type { Batch } from '../../../src/core/batch.ts';
import type { LedgerEntry, LedgerRow } from '../../../src/store/contract/accounts.ts';
import type { Stores } from '../conformance.ts';
import {
  addBatch,
  addToLedger,
  claimOf,
  failure,
  hour,
  lease,
  makeBatch,
  makeChunks,
  makeCreation,
  makeFile,
  makeKey,
  makeOrg,
  makeWebhook,
  output,
  range,
  start,
} from '../fixtures.ts';

const nextMonth = Date.UTC(2026, 11, 1);
/** Cost of one output of a `makeBatch` batch, in nano-dollars. */
const line = 1_000;

/** Budget and spending of each org. */
export function budgetTests(on: Stores): void {
  const budgetOf = (amount: number, period: BudgetPeriod = 'month'): Budget => ({ amount, period });
  const orgWith = (budget: Budget | undefined, id = 'org_a') => on.store.orgs.insert(makeOrg({ id }), budget);
  const spent = async (now = start) => (await on.store.orgs.budgets(now)).map((budget) => budget.spent);
  const request = (fields: Partial<LedgerRow & Pick<LedgerEntry, 'keyFamily'>> = {}): LedgerRow => ({
    sourceId: 'req_1',
    keyId: 'key_a',
    orgId: 'org_a',
    model: 'm1',
    day: '2026-11-21T09',
    endpoint: '/v1/chat/completions',
    tag: '',
    requests: 1,
    usage: { inputTokens: 1, cachedTokens: 0, cacheWriteTokens: 0, outputTokens: 1, reasoningTokens: 0 },
    amount: 700,
    ...fields,
  });
  const record = (batch: Batch, lines: number[], now = start) =>
    on.store.results.record(
      'w',
      lines.map((each) => output(batch, each)),
      [],
      now,
    );
  const rotate = (id: string, next: string, endsAt: number | null) =>
    on.store.keys.rotate(id, { id: next, prefix: '', hash: next }, endsAt, {
      actor: serverActor,
      at: start,
    });
  /** Publishes a batch without files. */
  const endBatch = async (id: string) => {
    const { chunks } = await on.store.batches.claimClosings('w', 1);
    expect(chunks.map(({ batchId }) => batchId)).toEqual([id]);
    const fault = { code: 'internal_error', message: '', param: null, line: null } as const;
    await on.store.batches.publish('w', lease(chunks[0]!), { output: null, errors: null }, start, fault);
  };
  const states = async (batch: Batch, now = start) =>
    (await on.store.batches.states([batch.id], now))[0]!.isBudgetUsedUp;

  describe('budgets', () => {
    test('are set with an org or later, changed, and lifted', async () => {
      await orgWith(budgetOf(5, 'total'));
      const org = makeOrg();
      await on.store.orgs.insert(org);
      const first = {
        orgId: 'org_a',
        keyId: null,
        keyFamily: null,
        hard: true,
        amount: 5,
        period: 'total',
        spent: 0,
        usedUpAt: null,
      };
      const byId = async () =>
        (await on.store.orgs.budgets(start)).toSorted((a, b) => (a.orgId > b.orgId ? -1 : 1));
      expect(await byId()).toEqual([first]);
      expect(await on.store.orgs.update(org.id, { name: 'New', budget: budgetOf(8) }, start)).toEqual({
        ...org,
        name: 'New',
      });
      const second = {
        orgId: org.id,
        keyId: null,
        keyFamily: null,
        hard: true,
        amount: 8,
        period: 'month',
        spent: 0,
        usedUpAt: null,
      };
      expect(await byId()).toEqual([first, second]);
      expect(await on.store.orgs.update('org_a', { budget: null }, start)).toMatchObject({ name: 'Acme' });
      expect(await on.store.orgs.update(org.id, {}, start)).toMatchObject({ name: 'New' });
      expect(await byId()).toEqual([second]);
      expect(await on.store.orgs.update('org_unknown', { budget: null }, start)).toBeUndefined();
    });

    test('are charged with the entries of the ledger, each commit once', async () => {
      await orgWith(budgetOf(1));
      const commit = { writer: 'a', number: 1 };
      await addToLedger(on.store, [request(), request({ sourceId: 'req_2', amount: 0 })], commit);
      await addToLedger(on.store, [request({ amount: 9 })], commit);
      await addToLedger(on.store, [request({ sourceId: 'req_3', orgId: 'org_b' })]);
      expect(await spent()).toEqual([700]);
      const batch = await addBatch(on.store, { orgId: 'org_b' });
      await claimOf(on.store, 'w', batch.id, { count: 2 });
      await on.store.orgs.insert(makeOrg({ id: 'org_b' }), budgetOf(9));
      await record(batch, [0, 1]);
      await on.store.results.record('w', [output(batch, 1), output(batch, 2), failure(batch, 3)], [], start);
      await on.store.results.record('w', [output(batch, 4, { model: 'unpriced' })], [], start);
      expect(await spent()).toEqual([700, 700 + 3 * line]);
    });

    test('lose nothing by rounding, however often a batch is recorded', async () => {
      await orgWith(budgetOf(1));
      // A third of a nano-dollar a line.
      const prices = { m1: { input: 66_667, cachedInput: 0, output: 0 } };
      const batch = await addBatch(on.store, { total: 30, prices });
      await claimOf(on.store, 'w', batch.id, { count: 8 });
      const usage = {
        inputTokens: 10,
        cachedTokens: 0,
        cacheWriteTokens: 0,
        outputTokens: 0,
        reasoningTokens: 0,
      };
      for (const each of range(0, 30))
        await on.store.results.record('w', [output(batch, each, { usage })], [], start);
      expect(await spent()).toEqual([10]);
    });

    test('start again each month if monthly, otherwise never', async () => {
      await orgWith(budgetOf(1_000));
      await orgWith(budgetOf(1_000, 'total'), 'org_b');
      for (const orgId of ['org_a', 'org_b'])
        await addToLedger(on.store, [
          request({ sourceId: `${orgId} 1`, orgId }),
          request({ sourceId: `${orgId} 2`, orgId, day: '2026-12-01' }),
        ]);
      expect(await spent(nextMonth - 1)).toEqual([700, 1_400]);
      expect(await spent(nextMonth)).toEqual([700, 1_400]);
      expect(await spent(nextMonth + 31 * 24 * hour)).toEqual([0, 1_400]);
    });

    test('record when they were first seen used up, and clear that when they no longer are', async () => {
      await orgWith(budgetOf(700));
      await orgWith(budgetOf(701), 'org_b');
      await orgWith(undefined, 'org_c');
      for (const orgId of ['org_a', 'org_b', 'org_c'])
        await addToLedger(on.store, [request({ sourceId: orgId, orgId })]);
      const since = async (now = start) => (await on.store.orgs.budgets(now)).map(({ usedUpAt }) => usedUpAt);
      await Promise.all([on.store.orgs.noteUsedUp(start + 5), on.other.orgs.noteUsedUp(start + 5)]);
      await on.other.orgs.noteUsedUp(start + 9);
      expect(await since()).toEqual([start + 5, null]);
      await on.store.orgs.noteUsedUp(nextMonth);
      expect(await since()).toEqual([null, null]);
      await on.store.orgs.noteUsedUp(start + 11);
      await on.store.orgs.update('org_a', { budget: budgetOf(800) }, start);
      await on.store.orgs.update('org_b', { budget: budgetOf(1) }, start);
      await on.store.orgs.noteUsedUp(start + 12);
      expect(await since()).toEqual([null, start + 12]);
      await on.store.orgs.update('org_b', { budget: null }, start);
      await on.store.orgs.update('org_b', { budget: budgetOf(1) }, start);
      expect(await since()).toEqual([null, null]);
    });

    test('that are used up stop claims and new batches until the next period', async () => {
      await orgWith(budgetOf(2 * line));
      const batch = await addBatch(on.store);
      const other = await addBatch(on.store, { orgId: 'org_b' });
      const [chunk] = await claimOf(on.store, 'w', batch.id);
      await record(batch, [0]);
      expect(await states(batch)).toBe(false);
      const file = makeFile();
      await on.store.files.insert(file, undefined, start);
      const creation = makeCreation();
      const make = (id: string, now = start) => {
        const made = makeBatch({ inputFileId: file.id, ...(id !== '' && { id }) });
        return on.store.batches.create(made, makeChunks(made), {
          creation,
          limits: { org: { openBatches: 9 }, key: {} },
          now,
        });
      };
      expect(await make('batch_first')).toEqual({ outcome: 'created' });
      await record(batch, [1]);
      expect(await states(batch)).toBe(true);
      // A repeated creation returns the same batch, and creates nothing.
      expect(await make('')).toEqual({ outcome: 'replayed', id: 'batch_first' });
      creation.token = 'k:/v1/batches:two';
      const budget = {
        orgId: 'org_a',
        keyId: null,
        keyFamily: null,
        hard: true,
        amount: 2 * line,
        period: 'month',
        spent: 2 * line,
        usedUpAt: null,
      };
      expect(await make('')).toEqual({ outcome: 'budget_used_up', budget });
      // Leased chunks may still be recorded and released.
      await record(batch, [2]);
      expect(await on.store.batches.release('w', [lease(chunk!)])).toBe(1);
      expect(await spent()).toEqual([3 * line]);
      expect(await claimOf(on.store, 'w', batch.id)).toEqual([]);
      expect(await claimOf(on.store, 'w', other.id)).toHaveLength(1);
      await on.store.orgs.update('org_a', { budget: budgetOf(3 * line + 1) }, start);
      expect(await states(batch)).toBe(false);
      expect(await claimOf(on.store, 'w', batch.id)).toHaveLength(1);
      await on.store.orgs.update('org_a', { budget: budgetOf(0) }, start);
      expect(await claimOf(on.store, 'w', batch.id)).toEqual([]);
      await on.store.orgs.update('org_a', { budget: budgetOf(3 * line) }, start);
      expect(await claimOf(on.store, 'w', batch.id)).toEqual([]);
      expect(await claimOf(on.store, 'w', batch.id, { now: nextMonth - 1 })).toEqual([]);
      expect([await states(batch, nextMonth), await states(batch, nextMonth - 1)]).toEqual([false, true]);
    });

    test('of a key count what it spends, and stop its batches alone', async () => {
      await orgWith(undefined);
      const key = await on.store.keys.insert(makeKey({ id: 'key_a', budget: budgetOf(line) }), 'aa');
      await on.store.keys.insert(makeKey({ id: 'key_b' }), 'bb');
      expect(key).toBe(true);
      const [own, other] = [await addBatch(on.store), await addBatch(on.store, { keyId: 'key_b' })];
      await claimOf(on.store, 'w', own.id);
      await record(own, [0]);
      await addToLedger(on.store, [request({ keyId: 'key_b' })]);
      const [budget, ...others] = await on.store.orgs.budgets(start);
      expect(budget).toEqual({
        orgId: 'org_a',
        keyId: 'key_a',
        keyFamily: null,
        hard: true,
        amount: line,
        period: 'month',
        spent: line,
        usedUpAt: null,
      });
      expect(others).toEqual([]);
      expect([await states(own), await states(other)]).toEqual([true, false]);
      const file = makeFile();
      await on.store.files.insert(file, undefined, start);
      const made = makeBatch({ inputFileId: file.id });
      expect(
        await on.store.batches.create(made, makeChunks(made), { limits: { org: {}, key: {} }, now: start }),
      ).toEqual({
        outcome: 'budget_used_up',
        budget,
      });
      const wanted = [{ model: 'm1', names: ['m1'], lines: 0, chunks: 9, claimedDue: {}, moreOrgs: 0 }];
      const suspects = { minKills: 99, max: 0, mayTakeAlone: false };
      const claimed = await on.store.batches.claim('w', wanted, {
        now: start,
        suspects,
        exhausted: ['key_a'],
      });
      expect(new Set(claimed.chunks.map(({ batchId }) => batchId))).toEqual(new Set([other.id]));
      const none = await on.store.batches.claim('w', wanted, { now: start, suspects, exhausted: ['org_a'] });
      expect(none.chunks).toEqual([]);
      await on.store.keys.update('key_a', { budget: budgetOf(line + 1) }, start);
      expect(await states(own)).toBe(false);
      expect((await on.store.keys.get('key_a'))?.budget).toEqual({ ...budgetOf(line + 1), hard: true });
    });

    test('are one of a whole family of keys, whatever key spends, is rotated or is changed', async () => {
      await orgWith(undefined);
      await on.store.keys.insert(makeKey({ id: 'key_a', budget: budgetOf(5 * line) }), 'aa');
      const own = await addBatch(on.store);
      await claimOf(on.store, 'w', own.id);
      await record(own, [0, 1]);
      await rotate('key_a', 'key_b', start + hour);
      await rotate('key_b', 'key_c', null);
      const next = await addBatch(on.store, { keyId: 'key_c', keyFamily: 'key_a' });
      await claimOf(on.store, 'w', next.id);
      await record(next, [0]);
      await addToLedger(on.store, [request({ keyId: 'key_b', keyFamily: 'key_a', amount: line })]);
      const budgets = () => on.store.orgs.budgets(start);
      expect(await budgets()).toMatchObject([
        { keyId: 'key_c', keyFamily: 'key_a', amount: 5 * line, spent: 4 * line },
      ]);
      expect([await states(own), await states(next)]).toEqual([false, false]);
      await record(own, [2]);
      await on.store.orgs.noteUsedUp(start + 5);
      expect([await states(own), await states(next)]).toEqual([true, true]);
      expect((await budgets())[0]).toMatchObject({ spent: 5 * line, usedUpAt: start + 5 });
      // Raised by the oldest key, for all of them.
      await on.store.keys.update('key_a', { budget: budgetOf(6 * line) }, start);
      for (const id of ['key_a', 'key_b', 'key_c'])
        expect((await on.store.keys.get(id))!.budget).toEqual({ ...budgetOf(6 * line), hard: true });
      expect([await states(own), await states(next)]).toEqual([false, false]);
      const wanted = [{ model: 'm1', names: ['m1'], lines: 0, chunks: 1, claimedDue: {}, moreOrgs: 0 }];
      const options = {
        now: start,
        suspects: { minKills: 99, max: 0, mayTakeAlone: false },
        only: [next.id],
      };
      const claim = (exhausted: string[]) => on.store.batches.claim('w', wanted, { ...options, exhausted });
      expect((await claim(['key_a'])).chunks).toEqual([]);
      expect((await claim(['key_c'])).chunks).toHaveLength(1);
      await on.store.orgs.noteUsedUp(start + 9);
      expect(await budgets()).toMatchObject([{ usedUpAt: null }]);
    });

    test('of a revoked key last as long as its batches', async () => {
      await orgWith(undefined);
      await on.store.keys.insert(makeKey({ id: 'key_a', budget: budgetOf(line) }), 'aa');
      const batch = await addBatch(on.store);
      await claimOf(on.store, 'w', batch.id);
      await on.store.keys.revoke('key_a', start);
      await record(batch, [0]);
      const budgets = () => on.store.orgs.budgets(start);
      expect(await budgets()).toMatchObject([{ keyId: 'key_a', spent: line }]);
      expect(await states(batch)).toBe(true);
      await on.store.keys.update('key_a', { budget: budgetOf(2 * line) }, start);
      expect(await states(batch)).toBe(false);
      await on.store.batches.cancel('org_a', batch.id, start, 0);
      expect(await budgets()).toHaveLength(1);
      await endBatch(batch.id);
      expect(await budgets()).toEqual([]);
    });

    test('count a wait once, however many budgets and pauses caused it', async () => {
      await orgWith(budgetOf(700));
      await on.store.keys.insert(makeKey({ id: 'key_a', budget: budgetOf(800) }), 'aa');
      const batch = await addBatch(on.store);
      await claimOf(on.store, 'w', batch.id);
      const at = (hours: number) => start + hours * hour;
      const setBudgets = async (ofOrg: number, ofKey: number) => {
        await on.store.orgs.update('org_a', { budget: budgetOf(ofOrg) }, start);
        await on.store.keys.update('key_a', { budget: budgetOf(ofKey) }, start);
      };
      const paused = async () => (await on.store.batches.find(batch.id))!.pausedMs / hour;
      await addToLedger(on.store, [request({ amount: 750 })]);
      await on.store.orgs.noteUsedUp(at(1));
      await addToLedger(on.store, [request({ amount: 50 })]);
      await on.store.orgs.noteUsedUp(at(2));
      // A pause within both.
      await on.store.batches.pause('org_a', batch.id, at(3));
      await on.store.batches.resume('org_a', batch.id, at(4));
      expect(await paused()).toBe(0);
      await setBudgets(801, 800);
      await on.store.orgs.noteUsedUp(at(5));
      expect(await paused()).toBe(1);
      await setBudgets(801, 801);
      await on.store.orgs.noteUsedUp(at(6));
      expect(await paused()).toBe(5);
      // Both end together, and the batch is paused until later.
      await setBudgets(1, 1);
      await on.store.orgs.noteUsedUp(at(10));
      await on.store.batches.pause('org_a', batch.id, at(11));
      await setBudgets(801, 801);
      await on.store.orgs.noteUsedUp(at(12));
      await on.store.batches.resume('org_a', batch.id, at(14));
      expect(await paused()).toBe(9);
      // A budget that is lifted ends its wait, too.
      await setBudgets(1, 801);
      await on.store.orgs.noteUsedUp(at(20));
      await on.store.orgs.update('org_a', { budget: null }, at(23));
      expect(await paused()).toBe(12);
    });

    test('that are soft stop nothing', async () => {
      await orgWith({ ...budgetOf(line), hard: false });
      const batch = await addBatch(on.store);
      await claimOf(on.store, 'w', batch.id);
      await record(batch, [0, 1]);
      expect(await states(batch)).toBe(false);
      expect(await claimOf(on.store, 'w', batch.id)).toHaveLength(1);
      expect(await on.store.orgs.budgets(start)).toMatchObject([{ hard: false, spent: 2 * line }]);
      await addBatch(on.store);
    });

    test('send budget.reached once, and count the wait as a pause of running batches', async () => {
      await orgWith(budgetOf(700));
      const webhook = makeWebhook({ eventTypes: ['budget.reached'] });
      await on.store.webhooks.insert(webhook, 's', 10);
      const batch = await addBatch(on.store);
      await claimOf(on.store, 'w', batch.id);
      await addToLedger(on.store, [request()]);
      await Promise.all([on.store.orgs.noteUsedUp(start + 5), on.other.orgs.noteUsedUp(start + 5)]);
      await on.store.orgs.noteUsedUp(start + 9);
      const sent = await on.store.webhooks.deliveries('org_a', webhook.id, { limit: 9 });
      expect(sent.map(({ event }) => [event.type, event.resourceId, event.at])).toEqual([
        ['budget.reached', 'org_a', start + 5],
      ]);
      await on.store.orgs.update('org_a', { budget: budgetOf(701) }, start);
      await on.store.orgs.noteUsedUp(start + 5 + 4 * hour);
      expect((await on.store.batches.find(batch.id))!.pausedMs).toBe(4 * hour);
      await addToLedger(on.store, [request({ amount: 1 })]);
      await on.store.orgs.noteUsedUp(start + 9 * hour);
      expect(await on.store.webhooks.deliveries('org_a', webhook.id, { limit: 9 })).toHaveLength(2);
    });

    test('count concurrent writes', async () => {
      await orgWith(budgetOf(1));
      const batches = [await addBatch(on.store), await addBatch(on.store)];
      for (const batch of batches) await claimOf(on.store, 'w', batch.id, { count: 2 });
      await Promise.all([
        ...range(0, 8).map((each) =>
          on.other.results.record('w', [output(batches[each % 2]!, each)], [], start),
        ),
        // Each twice, as if the first answer was lost.
        ...[on.store, on.other].flatMap((store) =>
          range(0, 8).map((n) =>
            addToLedger(store, [request({ sourceId: 'one' })], { writer: `w${n}`, number: 1 }),
          ),
        ),
        on.other.results.record(
          'w',
          batches.map((batch, n) => output(batch, 1 - n)),
          [],
          start,
        ),
      ]);
      expect(await spent()).toEqual([10 * line + 8 * 700]);
    });
  });
}

import { beforeEach, describe, expect, it } from 'vitest';
import { createAccountStore } from '../../test/server/support/account-store.ts';
import { createManualClock, type ManualClock } from '../../test/support/manual-clock.ts';
import { createSeededRandom } from '../../test/support/seeded-random.ts';
import { dayMs, hourMs } from '../base/clock.ts';
import { createIds } from '../base/ids.ts';
import { type Log, silent } from '../base/log.ts';
import { BillingClock } from './billing-clock.ts';
import { createAccounts } from './create-accounts.ts';
import { noReservation } from './reservations.ts';
import { soleDuties } from '../core/duties.ts';
import { createReportGate } from './report-gate.ts';
import { createRollUp } from './roll-up.ts';
import { createScanGate } from '../store/scan-gate.ts';

const began = Date.UTC(2026, 10, 30, 12);
let clock: ManualClock;
let logged: [level: string, message: string, fields: object][];
let log: Log;
let billing: BillingClock;

beforeEach(() => {
  clock = createManualClock(began);
  logged = [];
  const at = (level: string) => (fields: object, message: string) =>
    void logged.push([level, message.slice(0, 40), fields]);
  log = { ...silent, info: at('info'), warn: at('warn'), error: at('error') };
  billing = new BillingClock(clock, log);
});

const levels = () => logged.map(([level]) => level);

describe('a clock that jumps', () => {
  beforeEach(() => billing.start('2026-11-30T11'));

  it.each([400, 1, -1, -400])(
    'by %i days, and is soon set back, bills nothing at that time',
    async (days) => {
      clock.jump(days * dayMs);
      expect(billing.now()).toBe(began);
      await clock.advance(hourMs - 1);
      expect(billing.now()).toBe(began + hourMs - 1);
      clock.jump(-days * dayMs);
      expect(billing.now()).toBe(clock.now());
      expect(levels()).toEqual(['warn', 'info']);
      const now = new Date(began + days * dayMs).toISOString();
      const fields = { clock: now, before: '2026-11-30T12:00:00.000Z', by_ms: days * dayMs };
      expect(logged[0]).toEqual(['warn', 'the clock jumped; bills keep the time fr', fields]);
      // A later jump gets a whole hour again.
      await clock.advance(2 * hourMs);
      clock.jump(days * dayMs);
      expect(billing.now()).toBe(clock.now() - days * dayMs);
    },
  );

  it('is followed after an hour', async () => {
    clock.jump(dayMs);
    billing.now();
    await clock.advance(hourMs);
    expect(billing.now()).toBe(clock.now());
    expect(levels()).toEqual(['warn', 'warn']);
    clock.jump(-dayMs);
    expect(billing.now()).toBe(clock.now() + dayMs);
  });

  it('starts a new hour when it jumps again', async () => {
    clock.jump(dayMs);
    billing.now();
    await clock.advance(hourMs - 1);
    clock.jump(dayMs);
    billing.now();
    await clock.advance(hourMs - 1);
    expect(billing.now()).toBe(clock.now() - 2 * dayMs);
    await clock.advance(1);
    expect(billing.now()).toBe(clock.now());
  });

  it('is not one that drifts, or is adjusted by less than five minutes', async () => {
    for (let n = 0; n < 10; n++) {
      await clock.advance(1_000);
      clock.jump(299_999);
      expect(billing.now()).toBe(clock.now());
    }
    expect(logged).toEqual([]);
  });
});

describe('hours of bills', () => {
  let forgotten: [number, number][] = [];
  let summed: string[] = [];
  const rollsUp = async (newest: string | null, ms: number) => {
    const days: string[] = [];
    forgotten = [];
    summed = [];
    billing.start(newest);
    const rollUp = createRollUp({
      ledger: {
        addToSums: async (before) => (summed.push(before), 0),
        rollUp: async (day) => (days.push(day), 0),
        forgetWriters: async (before, now) => void forgotten.push([before, now]),
      },
      reports: createReportGate(),
      duties: soleDuties(),
      clock: billing,
      log,
    });
    await rollUp.start();
    await clock.advance(ms);
    await rollUp.stop();
    return days;
  };

  it('are rolled up after a start that the newest bill confirms', async () => {
    expect(await rollsUp('2026-11-30T11', 50)).toEqual(['2026-10-21']);
    // One hour after their end.
    expect(summed).toEqual(['2026-11-30T11']);
    expect(forgotten).toEqual([[clock.now() - 7 * 24 * hourMs, clock.now()]]);
  });

  it('stay while the clock may be ahead', async () => {
    expect(await rollsUp('2025-10-30T11', hourMs - 1)).toEqual([]);
    expect([summed, forgotten]).toEqual([[], []]);
    expect(await rollsUp('2025-10-30T11', hourMs + 600_000)).toEqual(['2026-10-21']);
  });
});

describe('a start', () => {
  it.each([
    ['the newest bill is of this hour', '2026-11-30T12', [], true],
    ['the newest bill is of the next hour', '2026-11-30T13', [], true],
    ['the newest bill is six days old', '2026-11-24T13', [], true],
    ['the newest bill is from another month', '2026-09', ['warn'], false],
    ['the newest bill is a year old', '2025-11-30T12', ['warn'], false],
    ['the newest bill is from the future', '2028-01-01T00', ['error'], false],
    ['there is no bill', null, [], false],
  ])('when %s', (_, newest, expected, keeps) => {
    billing.start(newest);
    expect(levels()).toEqual(expected);
    expect(billing.now()).toBe(began);
    clock.jump(400 * dayMs);
    expect(billing.now() === began).toBe(keeps);
    expect(levels()).toEqual([...expected, 'warn']);
  });

  it.each([
    ['without a bill is kept from the first minute on', null, 60_000],
    ['against the newest bill is kept from the first hour on', '2028-01-01T00', hourMs],
    ['long after the newest bill is kept from the first hour on', '2025-01', hourMs],
  ])('at a time %s', async (_, newest, ms) => {
    billing.start(newest);
    await clock.advance(ms - 1);
    clock.jump(dayMs);
    expect(billing.now()).toBe(began + dayMs + ms - 1);
    clock.jump(-dayMs);
    expect(billing.now()).toBe(began + ms - 1);
    await clock.advance(hourMs);
    clock.jump(dayMs);
    expect(billing.now()).toBe(began + hourMs + ms - 1);
  });
});

it('F11: dates single requests by the time before a jump, and the budgets of that month decide', async () => {
  const store = createAccountStore();
  const months: number[] = [];
  const accounts = createAccounts({
    scans: createScanGate(),
    store: {
      ...store,
      ledger: { ...store.ledger, newest: async () => '2026-11-30T11' },
      orgs: { ...store.orgs, budgets: async (billedAt) => (months.push(billedAt), []) },
    },
    clock,
    random: createSeededRandom(1),
    ids: createIds(clock, createSeededRandom(1)),
    log,
    config: {},
  });
  await accounts.start();
  const charge = () =>
    accounts.charge({
      caller: { orgId: 'org_1', keyId: 'key_1' },
      model: 'tiny',
      endpoint: '/v1/chat/completions',
      tag: '',
      usage: {
        inputTokens: 1,
        cachedTokens: 0,
        cacheWriteTokens: 0,
        outputTokens: 1,
        reasoningTokens: 0,
      },
      prices: { input: 1, cachedInput: 1, output: 1 },
      reservation: noReservation,
    });
  charge();
  await clock.advance(1_000);
  clock.jump(400 * dayMs);
  charge();
  await clock.advance(1_000);
  clock.jump(-400 * dayMs);
  charge();
  await accounts.stop();
  expect(store.written.flat().map(({ day }) => day)).toEqual(Array(3).fill('2026-11-30T12'));
  expect(months).toEqual([began, began + 1_000, began + 2_000]);
});

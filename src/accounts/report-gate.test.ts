import { afterEach, beforeEach, expect, it } from 'vitest';
import { createManualClock } from '../../test/support/manual-clock.ts';
import { createMemoryStore, type MemoryStore } from '../../test/support/memory-store.ts';
import type { UsageQuery } from '../core/usage-report.ts';
import { noUsage } from '../core/usage.ts';
import type { LedgerStore } from '../store/contract/accounts.ts';
import { createReportGate } from './report-gate.ts';
import { readUsage } from './usage.ts';

const rows = 12_000;
let store: MemoryStore;

beforeEach(async () => {
  store = createMemoryStore({ clock: createManualClock() });
  await store.start();
  const org = { id: 'org_1', name: '', createdAt: 0, limits: {}, weight: 1, disabledAt: null };
  await store.orgs.insert(org);
  // Hours of one day, more than a part of a report holds.
  const entries = Array.from({ length: rows }, (_, n) => ({
    sourceId: `single:key_1::${n >> 3}`,
    orgId: 'org_1',
    keyId: 'key_1',
    model: 'm',
    day: `2026-01-01T0${n % 8}`,
    endpoint: '',
    tag: '',
    requests: 1,
    usage: noUsage,
    cost: { nano: 1, parts: 0 },
  }));
  await store.ledger.add(entries, { writer: 'w', number: 1, at: 0 });
});
afterEach(() => store.stop());

it('counts every row of a report once while the ledger is rolled up', async () => {
  const gate = createReportGate();
  const query: UsageQuery = { start: '2026-01-01', before: '2026-02-01', groups: ['org'], limit: 9 };
  let parts = 0;
  let rolled = 0;
  const rollUp = () =>
    gate.rollUp(async () => {
      expect(await store.ledger.addToSums('2026-01-01T04', rows, 0)).toBe(rows / 2);
      rolled += await store.ledger.rollUp('2026-02-01', rows);
    });
  const pending: Promise<void>[] = [];
  const ledger: Pick<LedgerStore, 'usage'> = {
    async usage(...part) {
      const read = await store.ledger.usage(...part);
      // Between the parts, as the database would allow it.
      if (++parts === 1) pending.push(rollUp());
      await Promise.resolve();
      return read;
    },
  };
  const report = () => gate.report(() => readUsage(ledger, query));
  expect((await report()).total).toMatchObject({ requests: rows, amount: BigInt(rows) });
  expect(parts).toBeGreaterThan(1);
  await Promise.all(pending);
  expect(rolled).toBe(rows / 2);
  expect((await report()).total).toMatchObject({ requests: rows, amount: BigInt(rows) });
});

it('lets reports run together, and one wait for the transaction of a roll-up', async () => {
  const gate = createReportGate();
  const seen: string[] = [];
  const held = () => Promise.withResolvers<void>();
  const [first, second, roll] = [held(), held(), held()];
  const read = (name: string, until: Promise<void>) =>
    gate.report(async () => {
      seen.push(`${name} begins`);
      await until;
    });
  const reports = [read('a', first.promise), read('b', second.promise)];
  const rolling = gate.rollUp(async () => {
    seen.push('roll-up begins');
    await roll.promise;
  });
  first.resolve();
  await reports[0];
  expect(seen).toEqual(['a begins', 'b begins']);
  second.resolve();
  await reports[1];
  await Promise.resolve();
  expect(seen.at(-1)).toBe('roll-up begins');
  const late = read('c', Promise.resolve());
  await Promise.resolve();
  expect(seen.at(-1)).toBe('roll-up begins');
  roll.resolve();
  await Promise.all([rolling, late]);
  expect(seen.at(-1)).toBe('c begins');
  // A failed roll-up keeps no report.
  await expect(gate.rollUp(() => Promise.reject(new Error('away')))).rejects.toThrow('away');
  await read('d', Promise.resolve());
});

import * as fc from 'fast-check';
import { expect, it } from 'vitest';
import type { UsageColumns, UsageRow } from './usage-report.ts';
import { figureNames, groupKey, UsageSums } from './usage-sums.ts';

const value = fc.string({ maxLength: 3 }).map((text) => text.replaceAll('\0', ''));
const row: fc.Arbitrary<UsageRow> = fc.record({
  groupValues: fc.tuple(value, value),
  requests: fc.nat(),
  inputTokens: fc.nat(),
  cachedTokens: fc.nat(),
  cacheWriteTokens: fc.nat(),
  outputTokens: fc.nat(),
  reasoningTokens: fc.nat(),
  amount: fc.bigInt(0n, 2n ** 54n),
});

/** Sums by group, as objects. */
function summed(rows: readonly UsageRow[]): UsageRow[] {
  const groups = Map.groupBy(rows, ({ groupValues }) => JSON.stringify(groupValues));
  return [...groups.values()].map((each) => ({
    ...(Object.fromEntries(
      figureNames.map((name) => [name, each.reduce((sum, of) => sum + of[name], 0)]),
    ) as Record<(typeof figureNames)[number], number>),
    groupValues: each[0]!.groupValues,
    amount: each.reduce((sum, { amount }) => sum + amount, 0n),
  }));
}

function columnsOf(rows: readonly UsageRow[]): UsageColumns {
  const sums = new UsageSums();
  for (const each of rows) sums.addRow(groupKey(each.groupValues), each, each.amount);
  return sums.columns();
}

const finish = (work: Generator<undefined>) => [...work].length;

it('adds up rows by group in columns, whatever the parts', () => {
  fc.assert(
    fc.property(fc.array(fc.array(row, { maxLength: 40 }), { maxLength: 4 }), (parts) => {
      const sums = new UsageSums();
      for (const part of parts) finish(sums.add(columnsOf(part), () => true));
      expect([...sums.rows(sums.keys())]).toEqual(summed(parts.flat()));
      const [total] = summed(parts.flat().map((each) => ({ ...each, groupValues: [] })));
      if (total) expect({ groupValues: [], ...sums.total }).toEqual(total);
    }),
  );
});

it('leaves groups out of the rows, and counts them in the total', () => {
  const one = { requests: 1, inputTokens: 0, cachedTokens: 0, cacheWriteTokens: 0, outputTokens: 0 };
  const rows = ['a', 'b'].map((name) => ({ ...one, reasoningTokens: 2, groupValues: [name], amount: 3n }));
  const sums = new UsageSums();
  finish(sums.add(columnsOf(rows), (key) => key > 'a'));
  expect(sums.keys()).toEqual(['b']);
  expect(sums.rows(['b']).slice()).toEqual([rows[1]]);
  expect(sums.total).toMatchObject({ requests: 2, amount: 6n });
});

it('adds many rows in steps', () => {
  const keys = Array.from({ length: 1_200 }, (_, n) => String(n));
  const columns = { keys, figures: new Float64Array(6 * 1_200), amounts: new BigInt64Array(1_200) };
  expect(finish(new UsageSums().add(columns, () => true))).toBe(2);
});

it('sorts keys as the lists of their values', () => {
  const compare = (a: readonly string[], b: readonly string[]) => {
    const at = a.findIndex((each, n) => each !== b[n]);
    return at < 0 ? 0 : a[at]! < b[at]! ? -1 : 1;
  };
  fc.assert(
    fc.property(fc.tuple(value, value), fc.tuple(value, value), (a, b) => {
      const [x, y] = [groupKey(a), groupKey(b)];
      expect(x < y ? -1 : x > y ? 1 : 0).toBe(compare(a, b));
    }),
  );
});

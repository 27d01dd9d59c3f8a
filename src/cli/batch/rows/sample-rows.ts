import type { Table } from '../../table/table.ts';

/**
 * Numbers of `size` random rows of a table. The same seed gives the same rows, so that two prompts can be compared.
 */
export async function sampleRows(table: Table, size: number, seed: number): Promise<ReadonlySet<number>> {
  let best: { number: number; rank: number }[] = [];
  const keepBest = () => {
    best = best.toSorted((a, b) => a.rank - b.rank).slice(0, size);
  };
  const add = (number: number) => {
    best.push({ number, rank: rankOf(number, seed) });
    if (best.length >= size * 2 + 1000) keepBest();
  };
  if (table.rows !== undefined) for (let number = 1; number <= table.rows; number++) add(number);
  else for await (const batch of table.read()) for (const { number } of batch) add(number);
  keepBest();
  return new Set(best.map(({ number }) => number));
}

/** Pseudorandom number of a row: the finalizer of MurmurHash3. */
function rankOf(number: number, seed: number): number {
  let hash = Math.imul(number, 0x9e37_79b1) ^ Math.imul(seed + 1, 0x85eb_ca6b);
  hash = Math.imul(hash ^ (hash >>> 16), 0x85eb_ca6b);
  hash = Math.imul(hash ^ (hash >>> 13), 0xc2b2_ae35);
  return (hash ^ (hash >>> 16)) >>> 0;
}

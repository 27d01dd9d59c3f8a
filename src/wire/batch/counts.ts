import type { BatchStatus } from '../../core/batch.ts';

/** Batches of one state that are counted, so that a count takes about a millisecond of the database. */
export const maxCounted = 10_000;

/** Answer of `GET /v1/batches/counts`. */
export function presentCounts(counts: Readonly<Record<BatchStatus, number>>) {
  return { object: 'batch.counts', max: maxCounted, counts };
}

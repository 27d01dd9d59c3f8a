import type { BatchStore, OpenBatch } from '../store/contract/batches.ts';

const pageSize = 2_000;
/** Batches of each kind that are judged at a time, so that it takes about a tenth of a second. */
const maxJudged = 10_000;

/** All batches without a decided end, by expiry. */
export function listOpen(store: Pick<BatchStore, 'listOpen'>): Promise<OpenBatch[]> {
  return readPages(Number.POSITIVE_INFINITY, (limit, last) => store.listOpen(limit, last));
}

/**
 * Batches without a decided end that can miss their windows soon, by expiry: the next to expire and those in progress, `max` of
 * each. These are all, unless more are open.
 */
export async function listPressing(
  store: Pick<BatchStore, 'listOpen' | 'listRunning'>,
  max = maxJudged,
): Promise<OpenBatch[]> {
  const next = await readPages(max, (limit, last) => store.listOpen(limit, last));
  if (next.length < max) return next;
  const known = new Set(next.map(({ id }) => id));
  const running = await readPages(max, (limit, last) => store.listRunning(limit, last?.id));
  const later = running.filter(({ id }) => !known.has(id)).toSorted((a, b) => a.expiresAt - b.expiresAt);
  return [...next, ...later];
}

async function readPages(
  max: number,
  read: (limit: number, last: OpenBatch | undefined) => Promise<OpenBatch[]>,
): Promise<OpenBatch[]> {
  const all: OpenBatch[] = [];
  for (;;) {
    const limit = Math.min(pageSize, max - all.length);
    const page = await read(limit, all.at(-1));
    all.push(...page);
    if (page.length < limit || all.length === max) return all;
  }
}

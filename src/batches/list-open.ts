import type { BatchStore, OpenBatch } from '../store/contract/batches.ts';

const pageSize = 2_000;
/** Batches of each kind whose risk is assessed at a time, which takes about a tenth of a second. */
const maxJudged = 10_000;

/** All batches without a decided end, by expiry. */
export function listOpen(store: Pick<BatchStore, 'listOpen'>): Promise<OpenBatch[]> {
  return readPages({ pageSize, max: Number.POSITIVE_INFINITY }, (limit, last) => store.listOpen(limit, last));
}

/**
 * Batches without a decided end that can miss their windows soon, by expiry: the next to expire and those in progress, `max` of
 * each. These are all, unless more are open.
 */
export async function listPressing(
  store: Pick<BatchStore, 'listOpen' | 'listRunning'>,
  max = maxJudged,
): Promise<OpenBatch[]> {
  const { rows } = await readFirstAndRunning({
    pageSize,
    max,
    first: (limit, last?: OpenBatch) => store.listOpen(limit, last),
    running: (limit, last) => store.listRunning(limit, last?.id),
  });
  return rows.toSorted((a, b) => a.expiresAt - b.expiresAt);
}

/** Reads a page after a row. */
type ReadPage<Row> = (limit: number, last: Row | undefined) => Promise<Row[]>;

/** Reads the first `max` rows and as many of the running ones, each once. `isPartial` if there may be others. */
export async function readFirstAndRunning<Row extends { id: string }>({
  first,
  running,
  ...size
}: {
  pageSize: number;
  max: number;
  first: ReadPage<Row>;
  running: ReadPage<Row>;
}): Promise<{ rows: Row[]; isPartial: boolean }> {
  const rows = await readPages(size, first);
  if (rows.length < size.max) return { rows, isPartial: false };
  const known = new Set(rows.map(({ id }) => id));
  const others = (await readPages(size, running)).filter(({ id }) => !known.has(id));
  return { rows: [...rows, ...others], isPartial: true };
}

async function readPages<Row>(
  { pageSize: size, max }: { pageSize: number; max: number },
  read: ReadPage<Row>,
): Promise<Row[]> {
  const all: Row[] = [];
  for (;;) {
    const limit = Math.min(size, max - all.length);
    const page = await read(limit, all.at(-1));
    all.push(...page);
    if (page.length < limit || all.length === max) return all;
  }
}

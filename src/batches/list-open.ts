import type { BatchStore, OpenBatch } from '../store/contract/batches.ts';

const pageSize = 2_000;

/** All batches without a decided end, by expiry. */
export async function listOpen(store: Pick<BatchStore, 'listOpen'>): Promise<OpenBatch[]> {
  const all: OpenBatch[] = [];
  for (;;) {
    const page = await store.listOpen(pageSize, all.at(-1));
    all.push(...page);
    if (page.length < pageSize) return all;
  }
}

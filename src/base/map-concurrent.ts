/**
 * Results of `work` for each item, in order, at most `limit` at a time. The first failure aborts the other calls and is thrown
 * once all have ended.
 * @throws the reason of `cancel` after an abort
 */
export async function mapConcurrent<Item, Result>(
  limit: number,
  items: readonly Item[],
  cancel: AbortSignal,
  work: (item: Item, signal: AbortSignal) => Promise<Result>,
): Promise<Result[]> {
  const failure = new AbortController();
  const signal = AbortSignal.any([cancel, failure.signal]);
  const results: Result[] = [];
  // Shared by all workers.
  const queue = items.entries();
  const worker = async (): Promise<void> => {
    try {
      for (const [at, item] of queue) {
        signal.throwIfAborted();
        results[at] = await work(item, signal);
      }
    } catch (error) {
      failure.abort(error);
    }
  };
  await Promise.all(Array.from({ length: Math.min(limit, items.length) }, worker));
  signal.throwIfAborted();
  return results;
}

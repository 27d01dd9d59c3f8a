/**
 * What `work` gives for each item, in their order, some of them at a time. The first failure aborts the work on the others, and
 * is thrown when all of it has ended.
 * @throws the signal's reason, too, once it aborted
 */
export async function mapConcurrent<Item, Result>(
  most: number,
  items: readonly Item[],
  given: AbortSignal,
  work: (item: Item, signal: AbortSignal) => Promise<Result>,
): Promise<Result[]> {
  const failure = new AbortController();
  const signal = AbortSignal.any([given, failure.signal]);
  const results: Result[] = [];
  // All take from it.
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
  await Promise.all(Array.from({ length: Math.min(most, items.length) }, worker));
  signal.throwIfAborted();
  return results;
}

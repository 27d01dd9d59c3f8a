import type { Store } from '../../src/store/store.ts';
import type { StoreOperations } from '../../src/store/sql/sql-store.ts';

/** `batches.claim`, `results.record` ... */
export type Operation = string;

/** Intercepts a store call: may skip, delay or fail the operation. */
export type Between = (
  name: Operation,
  args: readonly unknown[],
  operate: () => Promise<unknown>,
) => Promise<unknown>;

type Operations = Record<string, (...args: unknown[]) => Promise<unknown>>;

/** Wraps every operation of the store in `between`. */
export function storeThrough(store: StoreOperations, between: Between): Store {
  const view: Record<string, unknown> = {
    start: () => Promise.resolve(),
    stop: () => Promise.resolve(),
    ping: () => between('ping', [], () => store.ping()),
  };
  for (const [group, operations] of Object.entries(store)) {
    if (typeof operations !== 'object') continue;
    const wrapped: Record<string, unknown> = {};
    for (const [method, operation] of Object.entries(operations as unknown as Operations))
      wrapped[method] = (...args: unknown[]) => between(`${group}.${method}`, args, () => operation(...args));
    view[group] = wrapped;
  }
  return view as unknown as Store;
}

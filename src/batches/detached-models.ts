import type { BatchContext } from './batch-context.ts';

/** Names of the models whose lines go on without this process: its end is not their fault. */
export function detachedModels({ catalog, capacity }: Pick<BatchContext, 'catalog' | 'capacity'>): string[] {
  return catalog
    .list()
    .filter(({ id }) => capacity.isDetached(id))
    .flatMap(({ id, aliases }) => [id, ...aliases]);
}

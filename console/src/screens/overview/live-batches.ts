import { useQueryClient } from '@tanstack/react-query';
import { isFinal } from '../../../../src/core/batch.ts';
import type { Batch } from '../../api/batches.ts';
import { useBatchEvents } from '../../api/batch-events.ts';
import { openBatchesQuery } from './queries.ts';

const all = {};

/** Keeps the open batches up to date by their events. */
export function useLiveBatches(isAdmin: boolean): void {
  const queries = useQueryClient();
  const { queryKey } = openBatchesQuery(isAdmin);
  useBatchEvents(isAdmin, all, {
    onChange: (changed) => queries.setQueryData(queryKey, (open) => open && withChanges(open, changed)),
    onGap: () => void queries.invalidateQueries({ queryKey }),
  });
}

/** The open batches with those that changed, and without those that have ended. Batches that did not change stay the same objects. */
export function withChanges(open: readonly Batch[], changed: readonly Batch[]): Batch[] {
  const byId = new Map(open.map((batch) => [batch.id, batch]));
  for (const batch of changed) {
    if (isFinal(batch.status)) byId.delete(batch.id);
    else byId.set(batch.id, batch);
  }
  return [...byId.values()];
}

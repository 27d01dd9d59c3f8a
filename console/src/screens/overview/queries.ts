import { queryOptions } from '@tanstack/react-query';
import { type Batch, type BatchFilters, fetchBatches } from '../../api/batches.ts';
import { api, bodyOf } from '../../api/client.ts';

export type OpenBatch = Batch;

/** Batches of each kind that are read: fewer are all. */
export const pageSize = 100;

/** Usage of the present UTC day by model, with the tokens that came from caches. */
export const usageQuery = queryOptions({
  queryKey: ['usage', 'today by model'],
  async queryFn({ signal }) {
    const start = new Date().toISOString().slice(0, 10);
    const query = { start, group_by: 'model' };
    return (await bodyOf(api.GET('/v1/usage', { params: { query }, signal }))).data;
  },
  refetchInterval: 60_000,
});

/**
 * Open batches: those at risk, those that wait, and the newest others, begun or not, up to a page each.
 * @param isAdmin true for those of all orgs
 */
export function openBatchesQuery(isAdmin: boolean) {
  return queryOptions({
    queryKey: ['open batches', isAdmin],
    async queryFn({ signal }): Promise<OpenBatch[]> {
      const filters: BatchFilters[] = [
        { at_risk: true },
        { waiting: 'any' },
        { status: 'in_progress' },
        { status: 'validating' },
      ];
      const pages = await Promise.all(
        filters.map((filter) => fetchBatches(isAdmin, filter, { limit: pageSize, signal })),
      );
      const all = pages.flatMap(({ data }) => data);
      return [...new Map(all.map((batch) => [batch.id, batch])).values()];
    },
    // Events keep it up to date, except for rates that fall and expected ends that move while nothing
    // ends. It also shows that the session has ended, or that the server does not answer.
    refetchInterval: 15_000,
  });
}

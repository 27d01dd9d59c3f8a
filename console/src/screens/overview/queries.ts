import { queryOptions } from '@tanstack/react-query';
import { api, bodyOf, type Item } from '../../api/client.ts';

/** Batch of the own org, or of any org with the name of it. */
export type OpenBatch = Item<'/v1/batches'> & { org?: string | null };

/** Age of the batches on the screen, in milliseconds. */
const listMs = 10_000;

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
 * Open batches: those at risk, those that wait, and the newest others, up to 100 each.
 * @param isAdmin true for those of all orgs
 */
export function openBatchesQuery(isAdmin: boolean) {
  return queryOptions({
    queryKey: ['open batches', isAdmin],
    async queryFn({ signal }): Promise<OpenBatch[]> {
      const list = async (filter: { at_risk?: true; waiting?: 'any' }): Promise<OpenBatch[]> => {
        const params = { query: { status: 'in_progress', limit: 100, ...filter } } as const;
        const page = isAdmin
          ? await bodyOf(api.GET('/v1/admin/batches', { params, signal }))
          : await bodyOf(api.GET('/v1/batches', { params, signal }));
        return page.data;
      };
      const all = await Promise.all([list({ at_risk: true }), list({ waiting: 'any' }), list({})]);
      return [...new Map(all.flat().map((batch) => [batch.id, batch])).values()];
    },
    refetchInterval: listMs,
  });
}

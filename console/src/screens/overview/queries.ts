import { queryOptions } from '@tanstack/react-query';
import { api, bodyOf, type Item } from '../../api/client.ts';

export type ModelQueue = Item<'/v1/admin/queue'>;
export type Replica = Item<'/v1/admin/replicas'>;
export type Webhook = Item<'/v1/webhooks'>;
/** Batch of the own org, or of any org with the name of it. */
export type OpenBatch = Item<'/v1/batches'> & { org?: string | null };

/** Age of what the screen shows, in milliseconds. */
const loadMs = 5_000;
const listMs = 10_000;

/** Work that batches have left, by model. */
export const queueQuery = queryOptions({
  queryKey: ['queue'],
  queryFn: async ({ signal }) => (await bodyOf(api.GET('/v1/admin/queue', { signal }))).data,
  refetchInterval: loadMs,
});

export const replicasQuery = queryOptions({
  queryKey: ['replicas'],
  queryFn: async ({ signal }) => (await bodyOf(api.GET('/v1/admin/replicas', { signal }))).data,
  refetchInterval: loadMs,
});

/** Webhooks of the own org. */
export const webhooksQuery = queryOptions({
  queryKey: ['webhooks'],
  queryFn: async ({ signal }) =>
    (await bodyOf(api.GET('/v1/webhooks', { params: { query: { limit: 100 } }, signal }))).data,
  refetchInterval: 60_000,
});

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

import { queryOptions } from '@tanstack/react-query';
import { api, bodyOf, type Item } from '../../api/client.ts';

export type ModelQueue = Item<'/v1/admin/queue'>;
export type OpenBatch = Item<'/v1/batches'> & { org?: string | null };

/** The overview is as old as this at most, in milliseconds. */
const refetchInterval = 5_000;

/** Work that batches have left, by model. */
export const queueQuery = queryOptions({
  queryKey: ['queue'],
  queryFn: ({ signal }) => bodyOf(api.GET('/v1/admin/queue', { signal })),
  refetchInterval,
});

/** The newest open batches: of all orgs for an admin, otherwise of the own org. */
export function openBatchesQuery({ isAdmin }: { isAdmin: boolean }) {
  return queryOptions({
    queryKey: ['open batches', isAdmin],
    async queryFn({ signal }): Promise<OpenBatch[]> {
      const query = { status: 'in_progress', limit: 100 } as const;
      const { data } = isAdmin
        ? await bodyOf(api.GET('/v1/admin/batches', { params: { query }, signal }))
        : await bodyOf(api.GET('/v1/batches', { params: { query }, signal }));
      return data;
    },
    refetchInterval,
  });
}

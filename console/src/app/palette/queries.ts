import { queryOptions } from '@tanstack/react-query';
import { api, bodyOf, type Item } from '../../api/client.ts';

/** The newest batches by id, name or metadata: of all orgs for an admin, otherwise of the own org. */
export function foundBatches(q: string, isAdmin: boolean) {
  return queryOptions({
    queryKey: ['palette', 'batches', q, isAdmin],
    async queryFn({ signal }): Promise<Item<'/v1/batches'>[]> {
      const params = { query: { limit: 6, ...(q !== '' && { q }) } };
      const { data } = isAdmin
        ? await bodyOf(api.GET('/v1/admin/batches', { params, signal }))
        : await bodyOf(api.GET('/v1/batches', { params, signal }));
      return data;
    },
    placeholderData: (previous) => previous,
  });
}

export const orgsQuery = queryOptions({
  queryKey: ['palette', 'orgs'],
  queryFn: ({ signal }) => bodyOf(api.GET('/v1/admin/orgs', { signal })),
  staleTime: 60_000,
});

import { queryOptions } from '@tanstack/react-query';
import { fetchBatches } from '../../api/batches.ts';

/** The newest batches by id, name or metadata: of all orgs for an admin, otherwise of the own org. */
export function foundBatches(q: string, isAdmin: boolean) {
  return queryOptions({
    queryKey: ['palette', 'batches', q, isAdmin],
    queryFn: async ({ signal }) =>
      (await fetchBatches(isAdmin, q === '' ? {} : { q }, { limit: 6, signal })).data,
    placeholderData: (previous) => previous,
  });
}

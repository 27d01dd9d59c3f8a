import { queryOptions } from '@tanstack/react-query';
import { api, bodyOf, type Item } from './client.ts';

export type Org = Item<'/v1/admin/orgs'>;

/** All orgs, for an admin. */
export const orgsQuery = queryOptions({
  queryKey: ['orgs'],
  queryFn: async ({ signal }) => (await bodyOf(api.GET('/v1/admin/orgs', { signal }))).data,
  staleTime: 10_000,
});

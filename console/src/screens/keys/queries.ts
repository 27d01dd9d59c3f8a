import { queryOptions, useMutation, useQueryClient } from '@tanstack/react-query';
import { api, bodyOf, type Answer, type Item } from '../../api/client.ts';

export type Org = Item<'/v1/admin/orgs'>;
export type Key = Item<'/v1/admin/keys'>;
export type NewKey = Answer<'/v1/admin/keys', 'post'>;

export const orgsQuery = queryOptions({
  queryKey: ['orgs'],
  queryFn: async ({ signal }) => (await bodyOf(api.GET('/v1/admin/orgs', { signal }))).data,
  refetchInterval: 10_000,
});

export const keysQuery = queryOptions({
  queryKey: ['keys'],
  queryFn: async ({ signal }) => (await bodyOf(api.GET('/v1/admin/keys', { signal }))).data,
  refetchInterval: 10_000,
});

/** Change of orgs and keys, after which both lists are read again. Its result, such as a secret, is kept by nothing but its caller. */
export function useChange<Input, Result>(change: (input: Input) => Promise<Result>) {
  const queries = useQueryClient();
  return useMutation({
    mutationFn: change,
    gcTime: 0,
    onSuccess: () =>
      Promise.all([orgsQuery, keysQuery].map(({ queryKey }) => queries.invalidateQueries({ queryKey }))),
  });
}

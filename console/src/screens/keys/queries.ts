import { infiniteQueryOptions, useMutation, useQueryClient } from '@tanstack/react-query';
import { api, bodyOf, type Answer, type Item } from '../../api/client.ts';
import { orgsQuery } from '../../api/orgs.ts';

export type Key = Item<'/v1/admin/keys'>;
export type NewKey = Answer<'/v1/admin/keys', 'post'>;

const pageSize = 200;

/** Pages of keys, oldest first: of all orgs, or of one. */
export function keysQuery(org: string | undefined) {
  return infiniteQueryOptions({
    queryKey: ['keys', org],
    queryFn: ({ pageParam, signal }) => {
      const query = {
        limit: pageSize,
        ...(org !== undefined && { org_id: org }),
        ...(pageParam !== undefined && { after: pageParam }),
      };
      return bodyOf(api.GET('/v1/admin/keys', { params: { query }, signal }));
    },
    initialPageParam: undefined as string | undefined,
    getNextPageParam: ({ data, has_more: hasMore }) => (hasMore ? data.at(-1)?.id : undefined),
    refetchInterval: 30_000,
  });
}

/** Change of orgs and keys, after which both lists are read again. Its result, such as a secret, is kept by nothing but its caller. */
export function useChange<Input, Result>(change: (input: Input) => Promise<Result>) {
  const queries = useQueryClient();
  return useMutation({
    mutationFn: change,
    gcTime: 0,
    onSuccess: () =>
      Promise.all([orgsQuery.queryKey, ['keys']].map((queryKey) => queries.invalidateQueries({ queryKey }))),
  });
}

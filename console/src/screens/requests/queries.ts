import { queryOptions, type QueryClient } from '@tanstack/react-query';
import { api, bodyOf, type Item } from '../../api/client.ts';
import { mergeRequests, needsAll, remembered } from './merge.ts';

export type RecentRequest = Item<'/v1/admin/requests'>;

const queryKey = ['requests'];

/**
 * The last requests, newest first. After the first time only the newest are read and added to those known, so that an open screen costs
 * the server little; of several processes behind one address, each answer adds those of another process.
 */
export function requestsQuery(client: QueryClient) {
  return queryOptions({
    queryKey,
    async queryFn({ signal }): Promise<RecentRequest[]> {
      const read = async (limit: number) =>
        (await bodyOf(api.GET('/v1/admin/requests', { params: { query: { limit } }, signal }))).data;
      const known = client.getQueryData<RecentRequest[]>(queryKey);
      if (!known) return mergeRequests([], await read(remembered));
      const newest = await read(100);
      return mergeRequests(known, needsAll(known, newest) ? await read(remembered) : newest);
    },
    refetchInterval: 3_000,
  });
}

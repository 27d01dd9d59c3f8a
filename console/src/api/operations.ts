import { type QueryClient, queryOptions } from '@tanstack/react-query';
import { api, bodyOf, type Item } from './client.ts';

export type ModelQueue = Item<'/v1/admin/queue'>;
export type Process = Item<'/v1/admin/processes'>;
export type Replica = Item<'/v1/admin/replicas'>;
export type Webhook = Item<'/v1/webhooks'>;
export type BatchPause = Item<'/v1/admin/pause'>;

/** Age of what screens show of the load, in milliseconds. */
const refetchInterval = 5_000;

/** Work that batches have left, by model. */
export const queueQuery = queryOptions({
  queryKey: ['queue'],
  queryFn: async ({ signal }) => (await bodyOf(api.GET('/v1/admin/queue', { signal }))).data,
  refetchInterval,
});

/** Server processes on the database. */
export const processesQuery = queryOptions({
  queryKey: ['processes'],
  queryFn: async ({ signal }) => (await bodyOf(api.GET('/v1/admin/processes', { signal }))).data,
  refetchInterval,
});

/** Servers of all models. */
export const replicasQuery = queryOptions({
  queryKey: ['replicas'],
  queryFn: async ({ signal }) => (await bodyOf(api.GET('/v1/admin/replicas', { signal }))).data,
  refetchInterval,
});

/** Shows a changed server at once, and reads all again. */
export function showReplica(queries: QueryClient, changed: Replica): void {
  queries.setQueryData(replicasQuery.queryKey, (rows) =>
    rows?.map((row) => (row.id === changed.id ? changed : row)),
  );
  void queries.invalidateQueries({ queryKey: replicasQuery.queryKey });
}

/** Pauses in force. */
export const pausesQuery = queryOptions({
  queryKey: ['pauses'],
  queryFn: async ({ signal }) => (await bodyOf(api.GET('/v1/admin/pause', { signal }))).data,
  refetchInterval,
});

/** Webhooks of the own org. */
export const webhooksQuery = queryOptions({
  queryKey: ['webhooks'],
  queryFn: async ({ signal }) =>
    (await bodyOf(api.GET('/v1/webhooks', { params: { query: { limit: 100 } }, signal }))).data,
  refetchInterval: 60_000,
});

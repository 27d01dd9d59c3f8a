import { queryOptions } from '@tanstack/react-query';
import { api, bodyOf } from './client.ts';

/** Models that the key may use. */
export const modelsQuery = queryOptions({
  queryKey: ['models'],
  queryFn: ({ signal }) => bodyOf(api.GET('/v1/models', { signal })),
});

/** Those that answer chats at once. */
export const chatModelsQuery = queryOptions({
  ...modelsQuery,
  select: ({ data }) => data.filter(({ serves, batch_only }) => serves.includes('chat') && !batch_only),
});

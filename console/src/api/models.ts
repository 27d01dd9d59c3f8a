import { queryOptions } from '@tanstack/react-query';
import { api, bodyOf } from './client.ts';

/** Models that answer chats. */
export const chatModelsQuery = queryOptions({
  queryKey: ['models'],
  queryFn: ({ signal }) => bodyOf(api.GET('/v1/models', { signal })),
  select: ({ data }) => data.filter(({ serves, batch_only }) => serves.includes('chat') && !batch_only),
});

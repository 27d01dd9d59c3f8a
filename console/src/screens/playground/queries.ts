import { queryOptions, useMutation, useQueryClient } from '@tanstack/react-query';
import { api, bodyOf } from '../../api/client.ts';
import { sendJson } from '../../api/send.ts';
import { post } from './post.ts';

/** Models that answer chats. */
export const modelsQuery = queryOptions({
  queryKey: ['models'],
  queryFn: ({ signal }) => bodyOf(api.GET('/v1/models', { signal })),
  select: ({ data }) => data.filter(({ serves, batch_only }) => serves.includes('chat') && !batch_only),
});

/** Creates a batch of one request to chat completions. */
export function useSendAsBatch() {
  const queries = useQueryClient();
  return useMutation({
    mutationFn: (body: Record<string, unknown>) =>
      sendJson<{ id: string }>(
        post('/v1/batches', {
          endpoint: '/v1/chat/completions',
          completion_window: '24h',
          metadata: { name: 'Playground' },
          requests: [{ custom_id: 'playground', method: 'POST', url: '/v1/chat/completions', body }],
        }),
      ),
    onSuccess: () => queries.invalidateQueries({ queryKey: ['batches'] }),
  });
}

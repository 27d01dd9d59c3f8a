import { useMutation, useQueryClient } from '@tanstack/react-query';
import { sendJson } from '../../api/send.ts';
import { post } from './post.ts';

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

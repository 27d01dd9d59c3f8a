import type { ChatChunk, ChatRequest, ChatResponse } from '../wire/chat/chat.ts';
import type { CompletionsRequest, CompletionsResponse } from '../wire/completions/completions.ts';
import type { EmbeddingsRequest, EmbeddingsResponse } from '../wire/embeddings/embeddings.ts';
import { ClientError, type RemoteError, Unreachable } from './errors.ts';
import { eventsOf } from './events.ts';
import type { Transport } from './transport.ts';

export interface GenerationClient {
  chat(request: ChatRequest, signal?: AbortSignal): Promise<ChatResponse>;
  /** @throws Unreachable when the stream stops before its end, ClientError when an error arrives in it */
  chatStream(request: ChatRequest, signal?: AbortSignal): AsyncIterable<ChatChunk>;
  completions(request: CompletionsRequest, signal?: AbortSignal): Promise<CompletionsResponse>;
  embeddings(request: EmbeddingsRequest, signal?: AbortSignal): Promise<EmbeddingsResponse>;
}

const chatPath = '/v1/chat/completions';

export function createGenerationClient(transport: Transport): GenerationClient {
  return {
    chat: (request, signal) => transport.json({ method: 'POST', path: chatPath, json: request, signal }),
    async *chatStream(request, signal) {
      const json = { ...request, stream: true, stream_options: { include_usage: true } };
      const response = await transport.send({ method: 'POST', path: chatPath, json, signal });
      const requestId = response.headers.get('x-request-id');
      for await (const data of eventsOf(response, transport.baseUrl)) {
        if (data === '[DONE]') return;
        const chunk = JSON.parse(data) as ChatChunk & { error?: RemoteError };
        if (chunk.error !== undefined) {
          const { error } = chunk;
          throw new ClientError(error.message ?? 'The stream failed.', { status: 200, requestId, error });
        }
        yield chunk;
      }
      throw new Unreachable(transport.baseUrl, 'the stream ended before the answer did');
    },
    completions: (request, signal) =>
      transport.json({ method: 'POST', path: '/v1/completions', json: request, signal }),
    embeddings: (request, signal) =>
      transport.json({ method: 'POST', path: '/v1/embeddings', json: request, signal }),
  };
}

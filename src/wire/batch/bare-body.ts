import type { Fields } from '../../base/fields.ts';
import type { BatchEndpoint } from '../../core/batch.ts';

export const lineMembers: readonly string[] = ['custom_id', 'method', 'url', 'body'];

/** True for an object of another format: it has members, but none of a batch line except perhaps `custom_id`. */
export function isOtherFormat(line: Fields): boolean {
  const names = Object.keys(line).filter((name) => name !== 'custom_id');
  return names.length > 0 && !names.some((name) => lineMembers.includes(name));
}

/** True for a bare request body, as in fine-tuning files; it may have a `custom_id`. */
export function isBareBody(line: Fields): boolean {
  return (
    isOtherFormat(line) &&
    (Array.isArray(line['messages']) || 'input' in line || 'prompt' in line || isRerank(line))
  );
}

/** Endpoint for a bare body. `input` alone fits embeddings and responses; only embeddings batches are enabled by default. */
export function endpointOfBody(body: Fields): BatchEndpoint {
  if (Array.isArray(body['messages'])) return '/v1/chat/completions';
  if (isRerank(body)) return '/v1/rerank';
  return 'input' in body ? '/v1/embeddings' : '/v1/completions';
}

function isRerank(body: Fields): boolean {
  return 'query' in body && Array.isArray(body['documents']);
}

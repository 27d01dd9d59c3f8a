import type { Fields } from '../../base/fields.ts';
import type { BatchEndpoint } from '../../core/batch.ts';

/** The members of a batch line. */
export const lineMembers: readonly string[] = ['custom_id', 'method', 'url', 'body'];

/** True for a request body without the members of a batch line around it, as fine-tuning files hold them. */
export function isBareBody(line: Fields): boolean {
  if (lineMembers.some((name) => name in line)) return false;
  return Array.isArray(line['messages']) || 'input' in line || 'prompt' in line;
}

/** The endpoint that takes such a body: `input` alone may be one of embeddings or responses, and batches of the former are open. */
export function endpointOfBody(body: Fields): BatchEndpoint {
  if (Array.isArray(body['messages'])) return '/v1/chat/completions';
  return 'input' in body ? '/v1/embeddings' : '/v1/completions';
}

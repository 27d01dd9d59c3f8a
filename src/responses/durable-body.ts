import { editBody } from '../wire/json/edit-body.ts';
import type { JsonBody } from '../wire/json/json-body.ts';
import type { ResponsesRequest } from '../wire/responses/responses.ts';
import type { PlacedItem } from '../wire/responses/request/to-chat-messages.ts';
import { isReference } from '../wire/responses/stored-items.ts';

/**
 * Body of a request that runs without the state that it refers to: its input is the whole conversation.
 * @param items of the conversation, with references resolved
 */
export function durableBody(
  body: JsonBody<ResponsesRequest>,
  items: readonly PlacedItem[],
): JsonBody<ResponsesRequest> {
  const { input, history_items: given } = body.value;
  const own = typeof input === 'string' ? 1 : input.length;
  const isWhole = items.length === own && (typeof input === 'string' || !input.some(isReference));
  if (isWhole) return given === undefined ? body : editBody(body, { history_items: undefined });
  return editBody(body, {
    input: items.map(({ item }) => item),
    history_items: items.length - own,
  });
}

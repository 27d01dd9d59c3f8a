import type { ConversationItem, ConversationAppend } from '../core/conversation.ts';
import { inputItemId, itemOrigin } from '../wire/responses/item-ids.ts';
import type { ResponseBody, StoredItem } from '../wire/responses/responses.ts';

/**
 * Converts items for a stored conversation. Our ids stay, so that a repeated item is stored once; client ids are replaced,
 * because they may be reused for other items.
 * @param source id of the response that the items belong to
 */
export function toConversationItems(items: readonly StoredItem[], source: string): ConversationItem[] {
  return items.map((item, index) => {
    const id = itemOrigin(item.id) ? item.id : inputItemId(source, item.type, index);
    return { id, item: JSON.stringify(id === item.id ? item : { ...item, id }) };
  });
}

/** Input and output that an answered response adds to its conversation. */
export function conversationTurn(
  body: ResponseBody,
  input: readonly StoredItem[],
  made: Pick<ConversationAppend, 'orgId' | 'keyId' | 'now' | 'expiresAt'>,
): ConversationAppend | undefined {
  const { id, conversation, status, output } = body;
  if (!conversation || (status !== 'completed' && status !== 'incomplete')) return undefined;
  const items = [
    ...toConversationItems(input, id),
    ...output.map((item) => ({ id: item.id, item: JSON.stringify(item) })),
  ];
  return { ...made, conversationId: conversation.id, items };
}

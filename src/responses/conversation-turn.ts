import type { ConversationItem, ConversationAppend } from '../core/conversation.ts';
import { inputItemId, itemOrigin } from '../wire/responses/item-ids.ts';
import type { ResponseBody, StoredItem } from '../wire/responses/responses.ts';

/**
 * Items as a conversation keeps them. Ids of ours stay, so that what is told twice is kept once; those that clients made up
 * may stand for something else the next time, and are replaced.
 * @param source the response they belong to
 */
export function toConversationItems(items: readonly StoredItem[], source: string): ConversationItem[] {
  return items.map((item, place) => {
    const id = itemOrigin(item.id) ? item.id : inputItemId(source, item.type, place);
    return { id, item: JSON.stringify(id === item.id ? item : { ...item, id }) };
  });
}

/** What a response adds to its conversation: what it was asked and answered, once it has an answer. */
export function conversationTurn(
  body: ResponseBody,
  asked: readonly StoredItem[],
  times: { orgId: string; now: number; expiresAt: number },
): ConversationAppend | undefined {
  const { id, conversation, status, output } = body;
  if (!conversation || (status !== 'completed' && status !== 'incomplete')) return undefined;
  const items = [
    ...toConversationItems(asked, id),
    ...output.map((item) => ({ id: item.id, item: JSON.stringify(item) })),
  ];
  return { ...times, conversationId: conversation.id, items };
}

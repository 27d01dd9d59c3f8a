import { unixSeconds } from '../../base/clock.ts';
import type { StoredConversation } from '../../core/conversation.ts';
import { string, array, object, orNull, literal, oneOf, metadataSchema, unixTime } from '../schema/schema.ts';
import { type AddFault, parseBody, validator } from '../schema/validate.ts';
import { inputItemSchema } from '../responses/request/item-schema.ts';
import { isReference } from '../responses/stored-items.ts';
import type { InputItem } from '../responses/responses.ts';

const items = array(inputItemSchema, { maxItems: 20 });

export const createConversationSchema = object(
  { 'items?': orNull(items), 'metadata?': metadataSchema },
  { title: 'CreateConversation' },
);

export const updateConversationSchema = object({ metadata: metadataSchema }, { title: 'UpdateConversation' });

export const createItemsSchema = object(
  { items: { ...items, minItems: 1 } },
  { title: 'CreateConversationItems' },
);

export const conversationSchema = object(
  {
    id: string({ pattern: '^conv_' }),
    object: oneOf(['conversation']),
    created_at: unixTime,
    metadata: { type: 'object', additionalProperties: { type: 'string' } },
  },
  { title: 'Conversation' },
);

export const deletedConversationSchema = object(
  { id: string(), object: oneOf(['conversation.deleted']), deleted: literal(true) },
  { title: 'DeletedConversation' },
);

export function presentConversation({ id, createdAt, metadata }: StoredConversation) {
  return {
    id,
    object: 'conversation' as const,
    created_at: unixSeconds(createdAt),
    metadata: JSON.parse(metadata) as Record<string, string>,
  };
}

interface Body {
  items?: InputItem[] | null;
  metadata?: Record<string, string> | null;
}

const checks = {
  create: validator(createConversationSchema, checkItems),
  update: validator(updateConversationSchema),
  items: validator(createItemsSchema, checkItems),
};

function checkItems({ items: given }: Body, add: AddFault): void {
  const index = (given ?? []).findIndex(isReference);
  if (index >= 0) add(`items[${index}]`, 'a conversation cannot store references: send the item itself');
}

/** @throws ApiError `validation_error` (422) */
export function parseConversation(
  text: string,
  as: keyof typeof checks,
): { items: InputItem[]; metadata: Record<string, string> } {
  const body = parseBody<Body>(text, checks[as]).value;
  return { items: body.items ?? [], metadata: body.metadata ?? {} };
}

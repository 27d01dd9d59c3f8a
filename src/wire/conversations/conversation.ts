import { unixSeconds } from '../../base/clock.ts';
import type { KeptConversation } from '../../core/conversation.ts';
import { Type } from '../json-schema.ts';
import { parseJson } from '../json/parse.ts';
import { metadataSchema, oneOf, raw, string } from '../schema.ts';
import { faultsError, validator } from '../validate.ts';
import { inputItemSchema } from '../responses/request/item-schema.ts';
import type { InputItem } from '../responses/responses.ts';

/** So many items are added at a time. */
const mostItems = 20;

const items = raw({ type: ['array', 'null'], maxItems: mostItems, items: inputItemSchema });

export const createConversationSchema = Type.Object(
  { items: Type.Optional(items), metadata: Type.Optional(metadataSchema) },
  { title: 'CreateConversation' },
);

export const updateConversationSchema = Type.Object(
  { metadata: metadataSchema },
  { title: 'UpdateConversation' },
);

export const createItemsSchema = Type.Object(
  { items: raw({ ...items, type: 'array', minItems: 1 }) },
  { title: 'CreateConversationItems' },
);

export const conversationSchema = Type.Object(
  {
    id: string({ pattern: '^conv_' }),
    object: oneOf(['conversation']),
    created_at: Type.Integer({ description: 'Unix time in seconds.' }),
    metadata: raw({ type: 'object', additionalProperties: { type: 'string' } }),
  },
  { title: 'Conversation' },
);

export const deletedConversationSchema = Type.Object(
  { id: string(), object: oneOf(['conversation.deleted']), deleted: Type.Literal(true) },
  { title: 'DeletedConversation' },
);

export interface ConversationBody {
  id: string;
  object: 'conversation';
  created_at: number;
  metadata: Record<string, string>;
}

export function presentConversation({ id, createdAt, metadata }: KeptConversation): ConversationBody {
  return {
    id,
    object: 'conversation',
    created_at: unixSeconds(createdAt),
    metadata: JSON.parse(metadata) as Record<string, string>,
  };
}

interface Body {
  items?: InputItem[] | null;
  metadata?: Record<string, string> | null;
}

const checks = {
  create: validator(createConversationSchema),
  update: validator(updateConversationSchema),
  items: validator(createItemsSchema),
};

/** @throws ApiError `validation_error` (422) */
export function parseConversation(
  text: string,
  as: keyof typeof checks,
): { items: InputItem[]; metadata: Record<string, string> } {
  const { value } = parseJson(text, { what: 'The request body' });
  const faults = checks[as](value);
  if (faults.length > 0) throw faultsError(faults);
  const body = value as Body;
  const given = body.items ?? [];
  const reference = given.findIndex(
    ({ type, role }) => type === 'item_reference' || ((type ?? null) === null && role === undefined),
  );
  if (reference >= 0)
    throw faultsError([
      {
        param: `items[${reference}]`,
        code: 'validation_error',
        message: 'a reference cannot be kept in a conversation: send the item itself',
      },
    ]);
  return { items: given, metadata: body.metadata ?? {} };
}

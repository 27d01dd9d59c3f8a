import { isId } from '../../base/ids.ts';
import { invalid } from '../../core/errors.ts';
import type { ChatQuery } from '../../core/stored-chat.ts';
import { string, object, literal, oneOf, metadataSchema } from '../schema/schema.ts';
import { parseItemsQuery, type Query, textParam } from '../shared/query-params.ts';
import { faultsError, parseBody, validator } from '../schema/validate.ts';
import type { ChatMessage } from './chat.ts';

/** Chat completions that are kept because their requests said `store: true`. */
export const updateChatSchema = object({ metadata: metadataSchema }, { title: 'UpdateChatCompletion' });
const checkUpdate = validator(updateChatSchema);

export const deletedChatSchema = object(
  { id: string(), object: oneOf(['chat.completion.deleted']), deleted: literal(true) },
  { title: 'DeletedChatCompletion' },
);

export const storedMessageSchema = object({ id: string(), role: string() }, { title: 'StoredMessage' });

/** As many as a chat completion can have: more could find nothing. */
const mostMarks = 16;

/**
 * The metadata of a request whose answer is to be kept; undefined for all others, whose metadata nobody looks at.
 * @throws ApiError `validation_error` (422)
 */
export function storedMetadata(request: object): Record<string, string> | undefined {
  const { store, metadata } = request as { store?: unknown; metadata?: unknown };
  if (store !== true) return undefined;
  const faults = checkUpdate({ metadata: metadata ?? null });
  if (faults.length > 0) throw faultsError(faults);
  return (metadata as Record<string, string> | null | undefined) ?? {};
}

/** @throws ApiError `validation_error` (422) */
export function parseChatUpdate(text: string): Record<string, string> {
  return parseBody<{ metadata: Record<string, string> | null }>(text, checkUpdate).value.metadata ?? {};
}

/** @throws ApiError `validation_error` */
export function parseChatList(query: Query): ChatQuery {
  const model = textParam(query, 'model');
  const metadata: Record<string, string> = {};
  for (const name of Object.keys(query)) {
    const [, key] = /^metadata\[(.*)\]$/s.exec(name) ?? [];
    if (key !== undefined) metadata[key] = textParam(query, name) ?? '';
  }
  const marks = Object.keys(metadata).length;
  if (marks > mostMarks) throw invalid('metadata', `expected at most ${mostMarks} names, got ${marks}`);
  return {
    ...parseItemsQuery(query, 'asc', (id) => isId('chatcmpl_', id)),
    ...(model !== undefined && { model }),
    metadata,
  };
}

/** What was asked, as lists show it: ids by place, and parts beside their text. */
export function presentStoredMessages(chatId: string, messages: readonly ChatMessage[]) {
  return messages.map((message, place) => {
    const { content } = message;
    const parts = Array.isArray(content) ? content : null;
    const texts = parts?.flatMap((part) => (part.type === 'text' ? [part['text'] as string] : []));
    return {
      ...message,
      id: `${chatId}-${place}`,
      content: texts ? texts.join('') : ((content as string | null | undefined) ?? null),
      content_parts: parts,
    };
  });
}

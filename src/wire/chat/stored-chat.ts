import { isId } from '../../base/ids.ts';
import { invalid } from '../../core/errors.ts';
import type { ChatQuery } from '../../core/stored-chat.ts';
import { string, object, literal, oneOf, metadataSchema } from '../schema/schema.ts';
import { parseItemsQuery, type Query, textParam } from '../shared/query-params.ts';
import { faultsError, parseBody, validator } from '../schema/validate.ts';
import type { ChatMessage } from './chat.ts';

export const updateChatSchema = object({ metadata: metadataSchema }, { title: 'UpdateChatCompletion' });
const checkUpdate = validator(updateChatSchema);

export const deletedChatSchema = object(
  { id: string(), object: oneOf(['chat.completion.deleted']), deleted: literal(true) },
  { title: 'DeletedChatCompletion' },
);

export const storedMessageSchema = object({ id: string(), role: string() }, { title: 'StoredMessage' });

/** Maximum metadata filters of a list: a chat completion has at most as many. */
const maxFilters = 16;

/**
 * Returns the metadata of a request with `store: true`; undefined for other requests, whose metadata is ignored.
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
  const filters = Object.keys(metadata).length;
  if (filters > maxFilters) throw invalid('metadata', `expected at most ${maxFilters} names, got ${filters}`);
  return {
    ...parseItemsQuery(query, 'asc', (id) => isId('chatcmpl_', id)),
    ...(model !== undefined && { model }),
    metadata,
  };
}

/** Messages of a stored request as the list shows them: ids by position, and parts next to their text. */
export function presentStoredMessages(chatId: string, messages: readonly ChatMessage[]) {
  return messages.map((message, index) => {
    const { content } = message;
    const parts = Array.isArray(content) ? content : null;
    const texts = parts?.flatMap((part) => (part.type === 'text' ? [part['text'] as string] : []));
    return {
      ...message,
      id: `${chatId}-${index}`,
      content: texts ? texts.join('') : ((content as string | null | undefined) ?? null),
      content_parts: parts,
    };
  });
}

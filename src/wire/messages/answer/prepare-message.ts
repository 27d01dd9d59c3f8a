import type { AnswerIdentity, PreparedChat } from '../../prepared/prepared-request.ts';
import { editMembers } from '../../json/edit-members.ts';
import { namedEvent } from '../../shared/sse.ts';
import { builtBody } from '../../json/json-body.ts';
import { remapError } from '../../shared/path-map.ts';
import { type AnswerOptions, fromChatResponse, messageId } from './from-chat-response.ts';
import type { Message, MessagesRequest } from '../messages.ts';
import { hasOwnSignature } from '../signature.ts';
import { requireReadable } from '../request/other-blocks.ts';
import { toChatRequest } from '../request/to-chat-request.ts';

/**
 * Prepares a checked messages request. Thinking with our signatures is translated to chat, because other servers would
 * reject it as forged.
 * @param text of the body as received
 * @throws ApiError `validation_error` (422) without content to answer; `request()` throws it for content that only other
 * servers can read
 */
export function prepareMessage(
  request: MessagesRequest,
  text: string,
): PreparedChat<Message | string> & { options: AnswerOptions } {
  const { chat, paths } = toChatRequest(request);
  const options = { hidesThinking: request.thinking?.display === 'omitted' };
  return {
    kind: 'chat',
    chat,
    options,
    request() {
      requireReadable(request, paths);
      return builtBody(chat);
    },
    native: hasOwnSignature(text)
      ? null
      : { op: 'messages', request: () => ({ value: request, text }), answer: nativeMessage },
    present: (answer) => fromChatResponse(answer, options),
    mapError: (error) => remapError(error, chat, paths),
  };
}

type Name = Pick<AnswerIdentity, 'id' | 'model'>;

/** Answer of a server that supports messages. Only the id and the model are replaced. */
export function nativeMessage({ text }: { text: string }, { id, model }: Name): string {
  const edits = { id: JSON.stringify(messageId(id)), model: JSON.stringify(model) };
  return editMembers(text, new Map(Object.entries(edits)));
}

/** Server-sent event of such an answer. */
export function nativeMessageEvent(
  { type, data, fields }: { type: string; data: string; fields?: Record<string, unknown> },
  { id, model }: Name,
): string {
  if (type !== 'message_start' || !fields) return namedEvent(type, data);
  const message = { ...(fields['message'] as object), id: messageId(id), model };
  return namedEvent(type, JSON.stringify({ ...fields, message }));
}

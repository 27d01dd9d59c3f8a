import type { AnswerIdentity, NativeAnswer, PreparedChat } from '../../prepared/prepared-request.ts';
import { editMembers } from '../../json/edit-members.ts';
import { namedEvent } from '../../shared/sse.ts';
import { builtBody } from '../../json/json-body.ts';
import { remapError } from '../../shared/path-map.ts';
import { type AnswerOptions, fromChatResponse, messageId } from './from-chat-response.ts';
import type { Message, MessagesRequest, MessagesTier } from '../messages.ts';
import { hasOwnSignature } from '../signature.ts';
import { requireReadable } from '../request/other-blocks.ts';
import { toChatRequest } from '../request/to-chat-request.ts';

/**
 * Prepares a checked messages request. Thinking with our signatures is translated to chat, because other servers would
 * reject it as forged.
 * @param text of the body as received
 * @param tier tier that serves the request
 * @throws ApiError `validation_error` (422) without content to answer; `request()` throws it for content that only other
 * servers can read
 */
export function prepareMessage(
  request: MessagesRequest,
  text: string,
  tier: MessagesTier,
): PreparedChat<Message | string> & { options: AnswerOptions } {
  const { chat, paths } = toChatRequest(request);
  const options = { hidesThinking: request.thinking?.display === 'omitted', tier };
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
      : { op: 'messages', request: () => ({ value: request, text }), answer: nativeMessage(tier) },
    present: (answer) => fromChatResponse(answer, options),
    mapError: (error) => remapError(error, chat, paths),
  };
}

type Name = Pick<AnswerIdentity, 'id' | 'model'>;

/** Presents an answer of a server that supports messages. Only the id, the model and the tier are replaced. */
export function nativeMessage(tier: MessagesTier) {
  return ({ text, fields }: Pick<NativeAnswer, 'text' | 'fields'>, { id, model }: Name): string => {
    const usage = { ...(fields['usage'] as object), service_tier: tier };
    const edits = { id: messageId(id), model, usage };
    return editMembers(
      text,
      new Map(Object.entries(edits).map(([name, value]) => [name, JSON.stringify(value)])),
    );
  };
}

/** Server-sent event of such an answer, at the default tier. */
export function nativeMessageEvent(
  { type, data, fields }: { type: string; data: string; fields?: Record<string, unknown> },
  { id, model }: Name,
): string {
  if (type !== 'message_start' || !fields) return namedEvent(type, data);
  const given = fields['message'] as { usage?: object };
  const usage = { ...given.usage, service_tier: 'standard' };
  const message = { ...given, id: messageId(id), model, usage };
  return namedEvent(type, JSON.stringify({ ...fields, message }));
}

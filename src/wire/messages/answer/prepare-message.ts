import type { PreparedChat } from '../../prepared/prepared-request.ts';
import { builtBody } from '../../json/json-body.ts';
import { remapError } from '../../shared/path-map.ts';
import { type AnswerOptions, fromChatResponse } from './from-chat-response.ts';
import type { Message, MessagesRequest } from '../messages.ts';
import { nativeMessage } from './native.ts';
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

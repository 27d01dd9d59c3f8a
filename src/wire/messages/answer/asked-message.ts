import type { AskedChat } from '../../shared/asked.ts';
import { madeBody } from '../../json/json-body.ts';
import { movedError } from '../../shared/places.ts';
import { type AnswerOptions, fromChatResponse } from './from-chat-response.ts';
import type { Message, MessagesRequest } from '../messages.ts';
import { nativeMessage } from './native.ts';
import { hasOurMark } from '../signature.ts';
import { requireReadable } from '../request/other-blocks.ts';
import { toChatRequest } from '../request/to-chat-request.ts';

/**
 * A checked messages request, ready to be answered. What thinks with our marks goes through chat: to others they would be a
 * forgery.
 * @param text of its body, as it came
 * @throws ApiError `validation_error` (422) when nothing is said in it; through chat for what only others can read
 */
export function askedMessage(
  request: MessagesRequest,
  text: string,
): AskedChat<Message | string> & { options: AnswerOptions } {
  const { chat, places } = toChatRequest(request);
  const options = { hidesThinking: request.thinking?.display === 'omitted' };
  return {
    kind: 'chat',
    chat,
    options,
    request() {
      requireReadable(request, places);
      return madeBody(chat);
    },
    native: hasOurMark(text)
      ? null
      : { op: 'messages', request: () => ({ value: request, text }), answer: nativeMessage },
    told: (answer) => fromChatResponse(answer, options),
    moved: (error) => movedError(error, chat, places),
  };
}

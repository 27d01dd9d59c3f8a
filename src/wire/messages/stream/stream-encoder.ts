import { ApiError } from '../../../core/errors.ts';
import type { ChatChunk, FinishReason } from '../../chat/chat.ts';
import { promptUsage } from '../../chat/usage.ts';
import { createAnswerBlocks } from './answer-blocks.ts';
import {
  type AnswerOptions,
  emptyMessage,
  endingFields,
  fromChatUsage,
} from '../answer/from-chat-response.ts';
import type { MessageEvent, MessagesUsage } from '../messages.ts';

export interface StreamOptions extends AnswerOptions {
  /** Tokens of the prompt, where the first chunk does not tell them; the end tells the whole usage. */
  inputTokens: number;
}

/** Makes the events of a streamed message from the chunks of a chat stream. */
export function createMessageEncoder({ inputTokens, ...options }: StreamOptions) {
  const blocks = createAnswerBlocks(options);
  let finish: FinishReason | null = null;
  let stop: string | null = null;
  let refusal: string | null = null;
  let pieces = 0;
  let begun: MessagesUsage | null = null;
  let usage: MessagesUsage | null = null;
  const guessed = promptUsage(inputTokens, 0);

  function start(chunk: ChatChunk): MessageEvent[] {
    if (begun) return [];
    begun = fromChatUsage({ ...(chunk.prompt ?? guessed), completion_tokens: 0 });
    return [{ type: 'message_start', message: emptyMessage(chunk, begun) }];
  }

  return {
    push(chunk: ChatChunk): MessageEvent[] {
      const events = start(chunk);
      if (chunk.usage) usage = fromChatUsage(chunk.usage);
      const [choice] = chunk.choices;
      if (!choice) return events;
      pieces += 1;
      events.push(...blocks.push(choice.delta));
      finish = choice.finish_reason ?? finish;
      stop = choice.stop_reason ?? stop;
      if (choice.delta.refusal) refusal = (refusal ?? '') + choice.delta.refusal;
      return events;
    },

    /**
     * The last events.
     * @throws ApiError `invalid_upstream_response` when the answer was not finished: a stream must never just stop
     */
    end(): MessageEvent[] {
      if (finish === null)
        throw new ApiError('invalid_upstream_response', 'The answer of the engine ended in the middle.');
      const ending = { finish, hasCalls: blocks.hasCalls, stop, refusal };
      return [
        ...blocks.end(),
        {
          type: 'message_delta',
          delta: { ...endingFields(ending), container: null },
          usage: usage ?? { ...begun!, output_tokens: pieces },
        },
        { type: 'message_stop' },
      ];
    },
  };
}

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
  /** Estimated prompt tokens, used if the first chunk does not report them. */
  inputTokens: number;
}

/** Converts the chunks of a chat stream to the events of a message. */
export function createMessageEncoder({ inputTokens, ...options }: StreamOptions) {
  const blocks = createAnswerBlocks(options);
  let finish: FinishReason | null = null;
  let stop: string | null = null;
  let refusal: string | null = null;
  let pieces = 0;
  let initialUsage: MessagesUsage | null = null;
  let usage: MessagesUsage | null = null;
  function start(chunk: ChatChunk): MessageEvent[] {
    if (initialUsage) return [];
    initialUsage = fromChatUsage({ ...(chunk.prompt ?? promptUsage(inputTokens, 0)), completion_tokens: 0 });
    return [{ type: 'message_start', message: emptyMessage(chunk, initialUsage, options) }];
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

    /** Last events. @throws ApiError `invalid_upstream_response` for an unfinished answer, so that no stream just stops */
    end(): MessageEvent[] {
      if (finish === null)
        throw new ApiError('invalid_upstream_response', "The engine's answer ended early.");
      const ending = { finish, hasCalls: blocks.hasCalls, stop, refusal };
      return [
        ...blocks.end(),
        {
          type: 'message_delta',
          delta: { ...endingFields(ending), container: null },
          usage: usage ?? { ...initialUsage!, output_tokens: pieces },
        },
        { type: 'message_stop' },
      ];
    },
  };
}

import type { ChatMessage } from './chat.ts';

/** Summary as a user message, because chat templates need one at the end and accept few system messages. */
export function summaryMessage(summary: string): ChatMessage {
  return {
    role: 'user',
    content: `The conversation up to here, summed up by you to save room:\n\n${summary}`,
  };
}

import type { ChatMessage } from './chat.ts';

/** A summary as the model reads it. The user's, because somebody must have spoken last, and templates take few system messages. */
export function summaryMessage(summary: string): ChatMessage {
  return {
    role: 'user',
    content: `The conversation up to here, summed up by you to save room:\n\n${summary}`,
  };
}

import type { ChatMessage } from './chat.ts';

/** A summary for the model. A message of the user, because templates need one at the end and take few system messages. */
export function summaryMessage(summary: string): ChatMessage {
  return {
    role: 'user',
    content: `The conversation up to here, summed up by you to save room:\n\n${summary}`,
  };
}

import { encodeToken, decodeToken } from '../shared/opaque-token.ts';
import type { InputItem, ResponseUsage, StoredItem } from './responses.ts';

/** Answer of `POST /v1/responses/compact`. Its output is the input to continue from. */
export interface CompactedBody {
  id: string;
  object: 'response.compaction';
  created_at: number;
  output: object[];
  usage: ResponseUsage;
}

export function compactionItem(id: string, summary: string) {
  return { id, type: 'compaction', encrypted_content: encodeToken(summary) };
}

/** Summary in a compaction item of ours; undefined for other items. */
export function readSummary({ type, encrypted_content: content }: InputItem): string | undefined {
  return type === 'compaction' ? decodeToken(content) : undefined;
}

/** Prompt for the summary, sent as the last message of the conversation. */
export const summaryPrompt =
  'The conversation is getting too long. Write a summary of it that replaces all of it, for you to go on from; the messages ' +
  'of the user stay as they are. State what was decided and why, what was done and what came of it, facts, names, numbers ' +
  'and quotations that will be needed, and what is still to do. Answer with the summary alone, and call no tools.';

/** Messages that compaction keeps word for word: all except the assistant's. */
export function retainedMessages(items: readonly StoredItem[]): StoredItem[] {
  return items.filter(({ type, role }) => type === 'message' && role !== 'assistant');
}

import { type Clock, dayMs } from '../base/clock.ts';
import type { FairGate, Gate } from '../base/fair-gate.ts';
import type { Ids } from '../base/ids.ts';
import type { ChatStore } from '../store/contract/chats.ts';
import type { ConversationStore } from '../store/contract/conversations.ts';
import type { ResponseStore } from '../store/contract/responses.ts';
import type { Quota } from './quota.ts';

/** Retention of stored responses and chat completions: 30 days. */
export const ttlMs = 30 * dayMs;

/** Collaborators and limits that the parts of the service share. */
export interface ResponsesContext {
  store: { responses: ResponseStore; conversations: ConversationStore; chats: ChatStore };
  clock: Clock;
  ids: Ids;
  quota: Quota;
  /** Limits the stored text that is in memory. */
  memory: FairGate;
  /** Shares the reads of many rows among orgs. */
  scans: Gate;
  /** Maximum bytes of a conversation. */
  maxBytes: number;
  /** Retention after the last change. */
  ttlMs: number;
}

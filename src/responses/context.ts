import type { Clock } from '../base/clock.ts';
import type { FairGate } from '../base/fair-gate.ts';
import type { Ids } from '../base/ids.ts';
import type { ChatStore } from '../store/contract/chats.ts';
import type { ConversationStore } from '../store/contract/conversations.ts';
import type { ResponseStore } from '../store/contract/responses.ts';
import type { Quota } from './quota.ts';

/** What the parts of this service work with. */
export interface ResponsesContext {
  store: { responses: ResponseStore; conversations: ConversationStore; chats: ChatStore };
  clock: Clock;
  ids: Ids;
  quota: Quota;
  /** Of what is stored and in memory. */
  memory: FairGate;
  /** Of one conversation. */
  maxBytes: number;
  /** How long a thing is kept after the last was added to it. */
  ttlMs: number;
}

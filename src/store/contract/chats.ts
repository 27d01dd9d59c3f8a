import type { ChatQuery, StoredChat } from '../../core/stored-chat.ts';
import type { Stored } from './storage.ts';

export type ChatPlace = Pick<ChatQuery, 'order' | 'limit' | 'after'>;
export type SizedChat = { id: string; bytes: number };
export type ChatWithoutMessages = Omit<StoredChat, 'messages'>;

/** Stored chat completions. Expired ones count as missing. */
export interface ChatStore {
  /** Returns what its org and key store. */
  insert(chat: StoredChat): Promise<Stored[]>;
  get(orgId: string, id: string, now: number): Promise<ChatWithoutMessages | undefined>;
  /** Messages of the request, as JSON text. */
  messages(orgId: string, id: string, now: number): Promise<string | undefined>;
  messagesBytes(orgId: string, id: string, now: number): Promise<number | undefined>;
  /** Ids with the size of answer and metadata, of a query without filters. */
  list(orgId: string, query: ChatPlace, now: number): Promise<SizedChat[]>;
  /** As `list` for a query with filters, but of one slice of the rows. `next` is where the next slice begins; null after the last. */
  search(orgId: string, query: ChatQuery, now: number): Promise<{ found: SizedChat[]; next: string | null }>;
  /** Existing ones, in the order of `ids`. */
  read(orgId: string, ids: string[], now: number): Promise<ChatWithoutMessages[]>;
  update(orgId: string, id: string, metadata: string, now: number): Promise<ChatWithoutMessages | undefined>;
  remove(orgId: string, id: string, now: number): Promise<boolean>;
  /** Removes up to `limit` expired ones and returns their number. */
  removeExpired(now: number, limit: number): Promise<number>;
}

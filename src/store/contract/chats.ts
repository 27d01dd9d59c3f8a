import type { ChatQuery, StoredChat } from '../../core/stored-chat.ts';
import type { StoredBytes } from './stored-bytes.ts';

export type ChatWithoutMessages = Omit<StoredChat, 'messages'>;

/** Stored chat completions. Expired ones count as missing. */
export interface ChatStore {
  /** Returns the stored bytes of the org. */
  insert(chat: StoredChat): Promise<StoredBytes[]>;
  get(orgId: string, id: string, now: number): Promise<ChatWithoutMessages | undefined>;
  /** Messages of the request, as JSON text. */
  messages(orgId: string, id: string, now: number): Promise<string | undefined>;
  messagesBytes(orgId: string, id: string, now: number): Promise<number | undefined>;
  /** Ids with the size of the answers. */
  list(orgId: string, query: ChatQuery, now: number): Promise<{ id: string; bytes: number }[]>;
  /** Existing ones, in the order of `ids`. */
  read(orgId: string, ids: string[], now: number): Promise<ChatWithoutMessages[]>;
  update(orgId: string, id: string, metadata: string, now: number): Promise<ChatWithoutMessages | undefined>;
  remove(orgId: string, id: string, now: number): Promise<boolean>;
  /** Removes up to `limit` expired ones and returns their number. */
  removeExpired(now: number, limit: number): Promise<number>;
}

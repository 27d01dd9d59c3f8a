import type { ChatQuery, StoredChat } from '../../core/stored-chat.ts';
import type { StoredBytes } from './stored-bytes.ts';

/** A kept chat completion without what it was asked. */
export type ChatWithoutMessages = Omit<StoredChat, 'messages'>;

/** Chat completions that are kept. One that has expired at `now` is not there. */
export interface ChatStore {
  /** Returns what the org has stored now. */
  insert(chat: StoredChat): Promise<StoredBytes[]>;
  get(orgId: string, id: string, now: number): Promise<ChatWithoutMessages | undefined>;
  /** What it was asked, as JSON text. */
  messages(orgId: string, id: string, now: number): Promise<string | undefined>;
  messagesBytes(orgId: string, id: string, now: number): Promise<number | undefined>;
  /** Which there are, and the bytes of their answers. */
  list(orgId: string, query: ChatQuery, now: number): Promise<{ id: string; bytes: number }[]>;
  /** Those that are there, in the order of their ids here. */
  read(orgId: string, ids: string[], now: number): Promise<ChatWithoutMessages[]>;
  update(orgId: string, id: string, metadata: string, now: number): Promise<ChatWithoutMessages | undefined>;
  remove(orgId: string, id: string, now: number): Promise<boolean>;
  /** Removes up to `limit` that have expired, and returns how many. */
  removeExpired(now: number, limit: number): Promise<number>;
}

import type { ConversationAppend } from '../../core/conversation.ts';
import type { StoredResponse } from '../../core/response.ts';
import type { StoredBytes } from './stored-bytes.ts';

/** How an unfinished response ends. */
export type ResponseEnd = Pick<StoredResponse, 'status' | 'output' | 'body' | 'pieces'>;

/** A response without what it was asked. */
export type ResponseWithoutInput = Omit<StoredResponse, 'input'>;

export interface ChainLimits {
  links: number;
  /** Of all that is said. */
  bytes: number;
}

export type ChainLink = Pick<StoredResponse, 'id' | 'status' | 'saidBytes'>;

export interface Chain {
  /** Newest first. */
  links: ChainLink[];
  /**
   * `whole` down to the first; `gone` where one is missing, expired or another org's; `long`, `large`: over a limit;
   * `conversation` where the last one was made in a conversation that is kept by itself.
   */
  end: 'whole' | 'gone' | 'long' | 'large' | 'conversation';
}

/** What a response was asked, and what it answered. */
export type ResponseSide = 'input' | 'output';

export interface ResponseStore {
  /**
   * All of them, and all that was said in conversations, or, when it rejects, none. Nothing is added to a conversation that
   * is gone. Returns what their orgs have stored now.
   */
  insert(responses: readonly StoredResponse[], said?: readonly ConversationAppend[]): Promise<StoredBytes[]>;
  /** What an org has stored, conversations among it, and what has expired until it is swept. */
  storedBytes(orgId: string): Promise<number>;
  /** The response if it is the org's and not expired at `now`. */
  get(orgId: string, id: string, now: number): Promise<ResponseWithoutInput | undefined>;
  /** The response and those it continues, without their texts; at most so many, holding at most so many bytes. */
  chain(orgId: string, id: string, now: number, most: ChainLimits): Promise<Chain>;
  /** Bytes of one side of responses by id; those that are missing, expired or another org's are left out. */
  sizes(orgId: string, side: ResponseSide, ids: string[], now: number): Promise<Record<string, number>>;
  /** JSON texts of one side of responses by id, likewise. */
  texts(orgId: string, side: ResponseSide, ids: string[], now: number): Promise<Record<string, string>>;
  /**
   * Ends an unfinished response, and adds to its conversation; the first end stays. False when it is finished or gone, and
   * then nothing is added.
   */
  finish(id: string, end: ResponseEnd, said?: ConversationAppend): Promise<boolean>;
  /** Says that the process which makes these is alive. Returns those that are still to be made. */
  renew(ids: string[], aliveUntil: number): Promise<string[]>;
  /** Up to `limit` unfinished responses that nobody makes any more at `now`. */
  abandoned(now: number, limit: number): Promise<ResponseWithoutInput[]>;
  /** False when there is no such response of the org. */
  remove(orgId: string, id: string, now: number): Promise<boolean>;
  /** Removes up to `limit` expired responses that are finished, and returns how many. */
  removeExpired(now: number, limit: number): Promise<number>;
}

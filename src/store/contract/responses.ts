import type { ConversationAppend } from '../../core/conversation.ts';
import type { ResponseEnd, StoredResponse } from '../../core/response.ts';
import type { Stored } from './storage.ts';

export type ResponseWithoutInput = Omit<StoredResponse, 'input'>;

export type ChainLink = Pick<StoredResponse, 'id' | 'status' | 'saidBytes'>;

export interface Chain {
  /** Newest first. */
  links: ChainLink[];
  /**
   * `whole`: reaches the first response. `gone`: one is missing, expired or of another org. `long`, `large`: over a limit.
   * `conversation`: the last one belongs to a stored conversation.
   */
  end: 'whole' | 'gone' | 'long' | 'large' | 'conversation';
}

export type ResponseSide = 'input' | 'output';

export interface ResponseStore {
  /**
   * Inserts responses and appends to conversations, all or nothing. Skips missing conversations. Returns what their
   * orgs and keys store.
   */
  insert(responses: readonly StoredResponse[], additions?: readonly ConversationAppend[]): Promise<Stored[]>;
  /** Response of the org that has not expired at `now`. */
  get(orgId: string, id: string, now: number): Promise<ResponseWithoutInput | undefined>;
  /** Id of the response that a single request makes, unless it has expired at `now`. */
  idOf(orgId: string, requestId: string, now: number): Promise<string | undefined>;
  /** Response and its predecessors up to a limit, without texts. */
  chain(orgId: string, id: string, now: number, most: { links: number; bytes: number }): Promise<Chain>;
  /** Sizes of input or output by response id; omits missing, expired and other orgs' responses. */
  sizes(orgId: string, side: ResponseSide, ids: string[], now: number): Promise<Record<string, number>>;
  /** JSON texts of input or output, likewise. */
  texts(orgId: string, side: ResponseSide, ids: string[], now: number): Promise<Record<string, string>>;
  /** Finishes a response and appends to its conversation; false without effect if it is finished or missing. */
  finish(id: string, end: ResponseEnd, addition?: ConversationAppend): Promise<boolean>;
  /** Up to `limit` unfinished responses with an expired lease, of processes of earlier versions. */
  abandoned(now: number, limit: number): Promise<ResponseWithoutInput[]>;
  /** False if the org has no such response. */
  remove(orgId: string, id: string, now: number): Promise<boolean>;
  /** Removes up to `limit` expired finished responses and returns their number. */
  removeExpired(now: number, limit: number): Promise<number>;
}

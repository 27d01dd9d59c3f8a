import type { FilePurpose, StoredFile } from '../../core/file.ts';
import type { CreateOutcome, IdempotencyToken } from './idempotency.ts';

export type CreateFileOutcome = CreateOutcome | { outcome: 'too_much' };

export interface FileStore {
  /**
   * Inserts the row (its blob is durable already) and remembers the creation, in one transaction. A file that counts into
   * what its org stores is not taken beyond `mostBytes`.
   */
  insert(
    file: StoredFile,
    creation: IdempotencyToken | undefined,
    now: number,
    mostBytes?: number,
  ): Promise<CreateFileOutcome>;
  /** The file if it is the org's and not expired at `now`. */
  get(orgId: string, id: string, now: number): Promise<StoredFile | undefined>;
  /** The file even if it expired: a running batch keeps reading its input (reliability.md, F16). */
  find(id: string): Promise<StoredFile | undefined>;
  list(orgId: string, query: FileQuery): Promise<StoredFile[]>;
  /**
   * Removes the row unless an unfinished batch reads it, and forgets its creation: a retry makes it anew. The caller
   * removes the blob afterwards; until it says so with `forgetRemoved`, `removedBlobs` names it.
   */
  remove(
    orgId: string,
    id: string,
    now: number,
  ): Promise<{ outcome: 'removed'; file: StoredFile } | { outcome: 'missing' | 'in_use' }>;
  /** Removes up to `limit` expired files that no unfinished batch reads, as `remove` does. Sweeps old creations, too. */
  removeExpired(now: number, limit: number): Promise<StoredFile[]>;
  /** Those of `blobIds` that a file row names. */
  referencedBlobs(blobIds: string[]): Promise<string[]>;
  /** The blobs of the newest files, at most so many. */
  newestBlobs(limit: number): Promise<string[]>;
  /** Blobs whose row was removed and of which nobody has said yet that they are gone. */
  removedBlobs(limit: number): Promise<string[]>;
  forgetRemoved(blobIds: string[]): Promise<void>;
}

export interface FileQuery {
  purpose?: FilePurpose;
  /** Starts behind this id in the given order, whether or not it still exists. */
  after?: string;
  order: 'asc' | 'desc';
  limit: number;
  now: number;
}

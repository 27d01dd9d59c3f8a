import type { FilePurpose, StoredFile } from '../../core/file.ts';
import type { FileByteLimits } from './storage.ts';
import type { CreateOutcome, IdempotencyToken } from './idempotency.ts';

/** `quota`: the response quota of the org, or a limit on the bytes of all files. */
export type CreateFileOutcome =
  | CreateOutcome
  | { outcome: 'too_much'; quota: 'responses' | keyof FileByteLimits };

export interface FileStore {
  /**
   * Inserts the row of a durable blob, with its idempotency token. `too_much` if its org or key would store more than
   * `limits` allow; `responses` is for files that count toward the response quota.
   */
  insert(
    file: StoredFile,
    creation: IdempotencyToken | undefined,
    now: number,
    limits?: FileByteLimits & { responses?: number },
  ): Promise<CreateFileOutcome>;
  /** File of the org that has not expired at `now`. */
  get(orgId: string, id: string, now: number): Promise<StoredFile | undefined>;
  /** File, even if expired: running batches continue to read their input (F16). */
  find(id: string): Promise<StoredFile | undefined>;
  list(orgId: string, query: FileQuery): Promise<StoredFile[]>;
  /**
   * Removes the row unless an unfinished batch reads the file, and its idempotency token, so that a retry creates it anew.
   * `removedBlobs` has the blob until the caller has deleted it and called `forgetRemoved`.
   */
  remove(
    orgId: string,
    id: string,
    now: number,
  ): Promise<{ outcome: 'removed'; file: StoredFile } | { outcome: 'missing' | 'in_use' }>;
  /** Removes up to `limit` expired files that no unfinished batch reads, and expired idempotency tokens. */
  removeExpired(now: number, limit: number): Promise<StoredFile[]>;
  /** Subset of `blobIds` with a file row. */
  referencedBlobs(blobIds: string[]): Promise<string[]>;
  /** Sizes and checksums of the files with these blobs. */
  sums(blobIds: string[]): Promise<FileSum[]>;
  newestBlobs(limit: number): Promise<string[]>;
  /** Blobs to delete: their file row was removed. */
  removedBlobs(limit: number): Promise<string[]>;
  forgetRemoved(blobIds: string[]): Promise<void>;
}

export type FileSum = Pick<StoredFile, 'blobId' | 'bytes' | 'sha256'>;

export interface FileQuery {
  purpose?: FilePurpose;
  /** Id after which the page begins; it need not exist. */
  after?: string;
  order: 'asc' | 'desc';
  limit: number;
  now: number;
}

import type { Service } from '../base/service.ts';

/**
 * Store of named bytes. The server makes the names (`blob_<id>`, or `blob_<id>.index`). A blob is durable before a row names it.
 * A blob that no row has named for an hour is quarantined, and removed days later.
 *
 * Failures are a `BlobError`, `missing` or `damaged` for lost data and `unavailable` for a temporary problem, or an
 * `ApiError` `insufficient_storage` if the disk or the bucket is full.
 */
export interface Blobs extends Service {
  /** Begins a blob, which does not exist until `commit`. */
  create(name: string): Promise<BlobWriter>;
  /**
   * Bytes from `start` (default 0) up to `end` (exclusive, default the end).
   * @throws BlobError before the first chunk: `missing`, or `damaged` if the blob ends before `end`
   */
  read(name: string, range?: { start?: number; end?: number }): Promise<AsyncIterable<Uint8Array>>;
  /** Exactly `length` bytes at `offset`, from the store. @throws BlobError `missing`, or `damaged` if the blob ends earlier */
  slice(name: string, offset: number, length: number): Promise<Uint8Array>;
  /** Several ranges of one blob, in the given order, with few reads or from memory. */
  slices(name: string, ranges: readonly ByteRange[]): Promise<Uint8Array[]>;
  /** Size in bytes; undefined for a missing blob. */
  size(name: string): Promise<number | undefined>;
  /** Removes a blob, in use or quarantined. Does nothing if it is missing. */
  remove(name: string): Promise<void>;
  /** All committed blobs, or those of one of the `blobFolders`. */
  list(folder?: string): AsyncIterable<ListedBlob>;
  /** Takes a blob out of use as of `at` (epoch milliseconds). Until `restore`, reads report it as missing. */
  quarantine(name: string, at: number): Promise<void>;
  restore(name: string): Promise<void>;
  listQuarantined(): AsyncIterable<{ name: string; since: number }>;
  /** Id of the installation that owns the blobs, as written by `label`. */
  readLabel(): Promise<string | undefined>;
  label(installation: string): Promise<void>;
  /** Fails if a small write cannot be made durable. */
  ping(): Promise<void>;
}

export interface ListedBlob {
  name: string;
  bytes: number;
  /** Epoch milliseconds by the clock of this machine. */
  modifiedAt: number;
}

export interface ByteRange {
  offset: number;
  length: number;
}

export interface BlobWriter {
  /** Bytes held in memory. */
  readonly bufferedBytes: number;
  /** Resolves when the next chunk can be written; `chunk` may then be reused. */
  write(chunk: Uint8Array): Promise<void>;
  /** Resolves when the blob is durable under its name. */
  commit(): Promise<void>;
  /** Removes everything written. Allowed after a failed write or commit. */
  abort(): Promise<void>;
}

import type { Service } from '../base/service.ts';

/**
 * Named bytes. Names are made by the server (`blob_<id>`, or that with `.index`), never by a client. A blob is durable before any
 * row names it; what no row names for an hour is set aside, and removed days later. Losing the storage is an error, never wrong bytes.
 *
 * What goes wrong is a `BlobError` whose code tells what is lost for good (`missing`, `damaged`) from what may be there
 * again later (`unavailable`), or an `ApiError` `insufficient_storage` where the disk or the bucket is full.
 */
export interface Blobs extends Service {
  /** Begins a blob; it does not exist for anyone until `commit`. */
  create(name: string): Promise<BlobWriter>;
  /**
   * Bytes from `start` (default 0) up to `end` (exclusive, default the end).
   * @throws BlobError `missing`, or `damaged` when it ends before `end`, before the first chunk
   */
  read(name: string, range?: { start?: number; end?: number }): Promise<AsyncIterable<Uint8Array>>;
  /**
   * Exactly `length` bytes at `offset`.
   * @throws BlobError `missing`, or `damaged` when it ends before
   */
  slice(name: string, offset: number, length: number): Promise<Uint8Array>;
  /** The same for many places of one blob, for the price of one opening, or few requests; in the order asked for. */
  slices(name: string, places: readonly ByteRange[]): Promise<Uint8Array[]>;
  /** Undefined for a blob that is missing; one that cannot be asked for throws. */
  size(name: string): Promise<number | undefined>;
  /** Wherever it is, in use or set aside. Removing what is not there is fine. */
  remove(name: string): Promise<void>;
  /** All committed blobs with their age; for the sweeper. */
  list(): AsyncIterable<{ name: string; modifiedAt: number }>;
  /** Takes a blob out of use, as of the instant `at`, and keeps it: for everybody else it is missing. */
  quarantine(name: string, at: number): Promise<void>;
  /** Undoes that. */
  restore(name: string): Promise<void>;
  /** All that is set aside, since when. */
  listQuarantined(): AsyncIterable<{ name: string; since: number }>;
  /** The installation these blobs are of, as `label` wrote it. */
  readLabel(): Promise<string | undefined>;
  label(installation: string): Promise<void>;
  /** Fails when a small write cannot be made durable, for `/readyz`. */
  ping(): Promise<void>;
}

/** Bytes of a blob. */
export interface ByteRange {
  offset: number;
  length: number;
}

export interface BlobWriter {
  /** The bytes it keeps in memory. */
  readonly bufferedBytes: number;
  /** Resolves when the writer can take more. */
  write(chunk: Uint8Array): Promise<void>;
  /** Resolves when the blob is there and durable, under its name. */
  commit(): Promise<void>;
  /** Leaves no trace. May be called after a failed write or commit. */
  abort(): Promise<void>;
}

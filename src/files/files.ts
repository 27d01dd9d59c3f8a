import type { PageSlices } from '../base/page-slices.ts';
import type { Service } from '../base/service.ts';
import type { BatchRules } from '../core/batch.ts';
import type { StoredFile, UploadPurpose } from '../core/file.ts';
import type { Caller } from '../core/org.ts';
import type { IdempotencyToken } from '../store/contract/idempotency.ts';
import type { FileListParams } from '../wire/file/list.ts';
import type { Hold } from './inline-files.ts';
import type { InputIndex } from './input-index.ts';

/** Files: streaming upload, reading, removal, expiry. */
export interface Files extends Service {
  /** Purposes of files that may be uploaded; always includes `batch`. */
  readonly purposes: readonly UploadPurpose[];
  /** Begins an upload. Bytes are spooled and validated as they arrive; the file is visible after `commit`. */
  begin(caller: Caller, options?: UploadOptions): Promise<Upload>;
  /**
   * Replaces the files that a request body names by their content. Returns `text` itself if it names none.
   * @param maxBytes limit of the resulting body
   * @param hold called with the size of the resulting body before files are read, if there are any
   * @throws ApiError `validation_error` with the place of a file that is missing, too large or unsuitable there;
   * `storage_damaged` if its content is lost
   */
  inline(orgId: string, text: string, maxBytes: number, hold: Hold): Promise<string>;
  get(caller: Caller, id: string): Promise<StoredFile>;
  list(caller: Caller, query: FileListParams, signal?: AbortSignal): PageSlices<StoredFile>;
  remove(owner: Pick<Caller, 'orgId'>, id: string): Promise<void>;
  /**
   * Verified content of a file: a reader that reaches the end has exactly the stored bytes. A range is verified by reading the
   * whole file, once per process.
   * @throws ApiError `not_found` if the file was deleted meanwhile; BlobError `missing` or `damaged`, before the first byte
   *   except for very large files
   */
  read(file: StoredFile, range?: ByteRange): Promise<AsyncIterable<Uint8Array>>;
  /**
   * Checks the presence and length of the content without reading it.
   * @throws ApiError `not_found`; BlobError `missing`, or `damaged` for another length
   */
  requireContent(file: StoredFile): Promise<void>;
  /** Index of an input file, for planning. @throws ApiError `not_found`, BlobError `missing` */
  index(file: StoredFile): Promise<InputIndex>;
}

/** Bytes from `start` up to `end`, exclusive; both are within the content. */
export interface ByteRange {
  start: number;
  end: number;
}

export interface UploadOptions {
  /** Form of places in faults: `line` 17 of a file, or `requests[3].body.model` of an inline batch. */
  source?: 'file' | 'inline';
  /** `batch` by default. `unknown` if the form sends the purpose after the bytes; `seal` gets it then. */
  purpose?: UploadPurpose | 'unknown';
  /** Rules for a batch's file; those of the configuration if absent. */
  rules?: BatchRules;
  /** True for bytes that will be discarded: they do not count toward the quota. */
  isDiscarded?: boolean;
  /** True if unknown fields of requests are faults; by default as configured. */
  isStrict?: boolean;
}

export interface Upload {
  /** Bytes in memory: of the incomplete line and of unwritten blocks. */
  readonly held: number;
  /** @throws ApiError `payload_too_large` as soon as the limit is crossed */
  write(chunk: Uint8Array): Promise<void>;
  /**
   * Ends the validation and makes blob and index durable, without a row: the caller inserts it (a file with `commit`, an inline
   * batch in its own transaction).
   * @throws ApiError with all faults of a batch's file (the first 100 and the total); the spool is removed then
   */
  seal(meta: UploadMeta): Promise<SealedUpload>;
  abort(): Promise<void>;
}

export interface UploadMeta {
  /** `batch` by default. */
  purpose?: UploadPurpose;
  /** Sanitized; only a label. */
  filename: string;
  expiresAt: number | null;
  /** Start of the time until `expiresAt`; now by default. */
  createdAt?: number;
}

export interface SealedUpload {
  file: StoredFile;
  index: InputIndex;
  /**
   * Inserts the row. For a known `creation`, returns the first file and removes this one.
   * @throws ApiError `storage_quota_exceeded` (402); the file is removed then
   */
  commit(creation: IdempotencyToken | undefined): Promise<{ file: StoredFile; replayed: boolean }>;
  /** Removes blob and index. */
  discard(): Promise<void>;
}

import type { Service } from '../base/service.ts';
import type { StoredFile, UploadPurpose } from '../core/file.ts';
import type { Caller } from '../core/org.ts';
import type { IdempotencyToken } from '../store/contract/idempotency.ts';
import type { FileListParams } from '../wire/file/list.ts';
import type { Hold } from './inline-files.ts';
import type { InputIndex } from './input-index.ts';

/** Files: streaming upload, reading back, removal, expiry (api.md, section 4). */
export interface Files extends Service {
  /** What files are taken for; `batch` always. */
  readonly purposes: readonly UploadPurpose[];
  /** Begins an upload: bytes are spooled and validated as they come, nothing is visible before `commit`. */
  begin(caller: Caller, options?: UploadOptions): Promise<Upload>;
  /**
   * The body of a request with the content of the files it names in their places; the text itself where it names none, or
   * none are kept here for that.
   * @param mostBytes what the body may have afterwards
   * @param hold told, before files are read, the bytes of the body with them; where it names none it is not asked
   * @throws ApiError `validation_error` with the place of a file that is not there, too large, or nothing for that place;
   * `storage_damaged` where what was stored of it is lost
   */
  inline(orgId: string, text: string, mostBytes: number, hold: Hold): Promise<string>;
  get(caller: Caller, id: string): Promise<StoredFile>;
  list(caller: Caller, query: FileListParams): Promise<{ files: StoredFile[]; hasMore: boolean }>;
  remove(caller: Caller, id: string): Promise<void>;
  /**
   * The content of a file, checked. Whoever reads to the end has what was stored, or an error. The bytes of a range were what
   * was stored when this process last read the whole file, which it does first where it has not.
   * @throws ApiError `not_found` when it was deleted since it was found, BlobError `missing` or `damaged`, before the first
   *   byte but for a very large file
   */
  read(file: StoredFile, range?: ByteRange): Promise<AsyncIterable<Uint8Array>>;
  /**
   * A look at the content without reading it.
   * @throws ApiError `not_found`, BlobError `missing`, or `damaged` when it has another length than was stored
   */
  requireContent(file: StoredFile): Promise<void>;
  /**
   * The index beside an input file, for planning.
   * @throws ApiError `not_found`, BlobError `missing`
   */
  index(file: StoredFile): Promise<InputIndex>;
}

/** Bytes from `start` up to `end`, exclusive; both are within the content. */
export interface ByteRange {
  start: number;
  end: number;
}

export interface UploadOptions {
  /** How faults name a place: `line` 17 of a file, or `requests[3].body.model` of an inline batch. */
  source?: 'file' | 'inline';
  /** What it is for; `batch` when absent. `unknown`: `seal` says so, as its form does behind the bytes. */
  purpose?: UploadPurpose | 'unknown';
}

export interface Upload {
  /** The bytes it keeps in memory: of the line whose end has not come, and of what waits to be written. */
  readonly held: number;
  /** @throws ApiError `payload_too_large` as soon as the cap is crossed */
  write(chunk: Uint8Array): Promise<void>;
  /**
   * Ends the validation and makes blob and index durable, without a row: the caller inserts it (files with `commit`, an
   * inline batch in its own transaction).
   * @throws ApiError with all bad lines of a batch's file (the first 100 and the total); the spool is gone then
   */
  seal(meta: UploadMeta): Promise<SealedUpload>;
  abort(): Promise<void>;
}

export interface UploadMeta {
  /** `batch` when absent. */
  purpose?: UploadPurpose;
  /** Cleaned already; it only labels the file. */
  filename: string;
  expiresAt: number | null;
  /** The anchor that `expiresAt` was counted from; now when absent. */
  createdAt?: number;
}

export interface SealedUpload {
  file: StoredFile;
  index: InputIndex;
  /**
   * Inserts the row. With a `creation` that was seen before, the first file is returned and this one removed.
   * @throws ApiError `storage_quota_exceeded` (402) where the org stores too much; the file is removed then
   */
  commit(creation: IdempotencyToken | undefined): Promise<{ file: StoredFile; replayed: boolean }>;
  /** Removes blob and index again. */
  discard(): Promise<void>;
}

import { createHash } from 'node:crypto';
import type { BlobWriter, Blobs } from '../blobs/blobs.ts';
import type { Clock } from '../base/clock.ts';
import type { Ids } from '../base/ids.ts';
import { heavySlices } from '../base/loop-slices.ts';
import type { BatchRules } from '../core/batch.ts';
import { ApiError, type Fault } from '../core/errors.ts';
import type { StoredFile, UploadPurpose } from '../core/file.ts';
import { familyOf } from '../core/key-family.ts';
import { modelFor } from '../core/model-access.ts';
import type { SharedCatalog } from '../core/model.ts';
import type { Caller } from '../core/org.ts';
import { type CheckedLine, type LineChecker, createLineChecker } from '../wire/batch/line.ts';
import { type SplitItem, type SplitLine, Splitter } from '../wire/batch/split.ts';
import { type CheckSchema, DistinctSchemas } from './distinct-schemas.ts';
import type { SealedUpload, Upload, UploadMeta } from './files.ts';
import { bufferedWriter } from './buffered-writer.ts';
import { IndexBuilder } from './index-builder.ts';
import { encodeIndex } from './input-index-codec.ts';
import type { UploadShare } from './quota.ts';
import { UploadFaults } from './upload-faults.ts';

/** Limits of files for other purposes than batches, which are stored as they are. */
export interface UserFiles {
  purposes: readonly UploadPurpose[];
  /** Per file. */
  fileBytes: number;
  /** Per org, for all files together. */
  bytesPerOrg: number;
}

export interface UploadDeps {
  blobs: Blobs;
  catalog: SharedCatalog;
  clock: Clock;
  ids: Ids;
  /** Rules of uploads that have none of their own. */
  rules: BatchRules;
  /** Maximum size of a line. */
  lineBytes: number;
  /** Bytes of all files of an org that has no limit of its own. */
  storedBytesPerOrg: number;
  /** Throws while the disk has no room for what clients store. */
  requireDisk: () => void;
  /** Only batch files are accepted if absent. */
  userFiles?: UserFiles;
  /** True if unknown fields of requests are faults instead of warnings. */
  isStrict?: boolean;
  checkSchema: CheckSchema;
}

export interface UploadTarget {
  caller: Caller;
  source: 'file' | 'inline';
  purpose: UploadPurpose | 'unknown';
  rules: BatchRules | undefined;
  /** Counts the bytes toward the quota. */
  share: UploadShare;
  isStrict?: boolean | undefined;
  /** Called when the bytes are durable. */
  sealed: (file: StoredFile, index: SealedUpload['index']) => SealedUpload;
}

/** Bytes are hashed and checked in slices of this size, each in its own turn of the event loop: some tenths of a millisecond. */
const sliceBytes = 32 * 1024;

export function indexName(blobId: string): string {
  return `${blobId}.index`;
}

/**
 * An upload in progress. Every chunk is spooled, hashed, split into lines and checked before the next one, so that memory holds
 * one line and one chunk. After the first fault, lines are only checked. Files for other purposes are only spooled and
 * hashed; while the purpose is unknown, everything is done.
 */
export class SpooledUpload implements Upload {
  readonly #deps: UploadDeps;
  readonly #target: UploadTarget;
  readonly #rules: BatchRules;
  readonly #blobId: string;
  #writer: BlobWriter | undefined;
  readonly #splitter: Splitter;
  readonly #checker: LineChecker;
  readonly #hash = createHash('sha256');
  readonly #index = new IndexBuilder();
  readonly #faults = new UploadFaults();
  readonly #share: UploadShare;
  readonly #schemas: DistinctSchemas;
  #bytes = 0;
  #requests = 0;
  /** True after a fault that makes the checks of later lines useless. */
  #fatal = false;
  #ended = false;
  /** True once the peers' models were refreshed. */
  #refreshed = false;

  constructor(deps: UploadDeps, target: UploadTarget, blobId: string, writer: BlobWriter) {
    const { caller, source, share, rules = deps.rules, isStrict = false } = target;
    this.#rules = rules;
    this.#share = share;
    this.#deps = deps;
    this.#target = target;
    this.#blobId = blobId;
    this.#writer = bufferedWriter(writer);
    this.#splitter = new Splitter({ lineBytes: deps.lineBytes, guess: source === 'file' });
    this.#schemas = new DistinctSchemas(deps.checkSchema, caller.orgId);
    this.#checker = createLineChecker({
      source,
      takesFiles: (deps.userFiles?.purposes.length ?? 0) > 0,
      endpoints: rules.endpoints,
      anyPrefix: rules.anyPrefix,
      refuseModel: (name, serves) => refusal(() => modelFor(deps.catalog, caller, name, serves)),
      isStrict,
      extraFields: (name) => deps.catalog.find(name)?.extraFields ?? [],
      takesImageUrls: (name) => (deps.catalog.find(name) ?? { imageUrls: true }).imageUrls === true,
    });
  }

  get held(): number {
    return this.#splitter.held + (this.#writer?.bufferedBytes ?? 0);
  }

  async write(chunk: Uint8Array): Promise<void> {
    this.#assertOpen();
    this.#bytes += chunk.length;
    await this.#requireSize(this.#target.purpose);
    await this.#requireQuota(chunk.length);
    for (let from = 0; from < chunk.length; from += sliceBytes) {
      await this.#slice(chunk.subarray(from, from + sliceBytes));
      if (this.#ended) return;
    }
  }

  async seal(meta: UploadMeta): Promise<SealedUpload> {
    this.#assertOpen();
    const { purpose = 'batch' } = meta;
    const isInput = purpose === 'batch';
    await this.#requireSize(purpose);
    if (isInput) await this.#requireGoodLines();
    else this.#schemas.drop();
    const index = this.#index.build();
    const now = meta.createdAt ?? this.#deps.clock.now();
    const file: StoredFile = {
      id: this.#deps.ids.next('file-'),
      orgId: this.#target.caller.orgId,
      keyId: familyOf(this.#target.caller),
      purpose,
      filename: meta.filename,
      bytes: this.#bytes,
      blobId: this.#blobId,
      sha256: this.#hash.digest('hex'),
      requests: isInput ? index.count : null,
      endpoint: isInput ? (this.#checker.endpoint ?? null) : null,
      warnings: isInput ? this.#checker.warnings : [],
      createdAt: now,
      expiresAt: meta.expiresAt,
    };
    await this.#makeDurable(isInput ? encodeIndex(index) : null);
    return this.#target.sealed(file, index);
  }

  async abort(): Promise<void> {
    this.#ended = true;
    this.#share.release();
    this.#schemas.drop();
    await this.#stopSpooling();
  }

  async #requireSize(purpose: UploadPurpose | 'unknown'): Promise<void> {
    const { userFiles } = this.#deps;
    const mayBeBatch = purpose === 'batch' || purpose === 'unknown';
    const userBytes = purpose === 'batch' ? 0 : (userFiles?.fileBytes ?? 0);
    const maxBytes = Math.max(mayBeBatch ? this.#rules.bytes : 0, userBytes);
    if (this.#bytes <= maxBytes) return;
    await this.abort();
    const advice = mayBeBatch ? `, the server's limits.bytes_per_batch; ${splitAdvice}` : '';
    throw new ApiError('payload_too_large', `The file is larger than ${maxBytes} bytes${advice}.`);
  }

  async #requireQuota(bytes: number): Promise<void> {
    try {
      this.#share.add(bytes);
    } catch (error) {
      await this.abort();
      throw error;
    }
  }

  async #requireGoodLines(): Promise<void> {
    await this.#take(this.#splitter.end());
    if (this.#requests === 0 && !this.#faults.any)
      this.#faults.addFirst({ code: 'empty_file', message: 'The file holds no requests.' });
    if (!this.#faults.any)
      for (const fault of await this.#schemas.faults(this.#deps.clock)) this.#faults.add([fault]);
    if (!this.#faults.any) return;
    await this.abort();
    throw this.#faults.error();
  }

  /** Commits the index first: a row must never name a blob without its index. */
  async #makeDurable(index: Uint8Array | null): Promise<void> {
    const name = indexName(this.#blobId);
    const content = this.#writer;
    const indexWriter = index && (await this.#deps.blobs.create(name));
    let isIndexDurable = false;
    try {
      if (index) await indexWriter?.write(index);
      await indexWriter?.commit();
      isIndexDurable = indexWriter !== null;
      await content?.commit();
    } catch (error) {
      await indexWriter?.abort();
      await this.abort();
      // An index that stays is swept; the first error is the one to report.
      if (isIndexDurable) await this.#deps.blobs.remove(name).catch(() => {});
      throw error;
    }
    this.#writer = undefined;
    this.#ended = true;
    this.#share.release();
  }

  async #slice(bytes: Uint8Array): Promise<void> {
    await heavySlices.next(this.#target.caller.orgId);
    this.#hash.update(bytes);
    const written = this.#writer?.write(bytes);
    // Awaited below; until then, a rejection must not count as unhandled.
    written?.catch(() => {});
    const { purpose } = this.#target;
    if (purpose === 'batch' || purpose === 'unknown') await this.#take(this.#splitter.push(bytes));
    await written;
    if (this.#faults.any && purpose === 'batch') await this.#stopSpooling();
  }

  async #stopSpooling(): Promise<void> {
    const writer = this.#writer;
    this.#writer = undefined;
    await writer?.abort();
  }

  async #take(items: Generator<SplitItem, void>): Promise<void> {
    if (this.#fatal) return;
    for (const item of items) {
      this.#requests += 1;
      if (item.fault) this.#faults.add([this.#inLine(item.fault)]);
      if (item.fault && item.fatal) this.#fatal = true;
      if (item.line) {
        let verdict = this.#checker.check(item.line.bytes, item.line.number);
        if (
          !verdict.ok &&
          !this.#refreshed &&
          verdict.faults.some(({ code }) => code === 'model_not_found')
        ) {
          this.#refreshed = true;
          await this.#deps.catalog.refresh();
          verdict = this.#checker.check(item.line.bytes, item.line.number);
        }
        if (!verdict.ok) this.#faults.add(verdict.faults);
        else if (!this.#faults.any) this.#accept(item.line, verdict);
      }
      if (this.#requests > this.#rules.requests) this.#tooMany();
      if (this.#fatal) return;
    }
  }

  #accept(line: SplitLine, checked: CheckedLine): void {
    this.#index.add(line, checked);
    const { prompt, customId, textOf } = checked;
    if (!prompt) return;
    const { number } = line;
    this.#schemas.add(prompt.chat, textOf, (given) => {
      const fault = prompt.mapFault(given);
      return this.#inLine({ ...fault, line: number, custom_id: customId, param: `body.${fault.param}` });
    });
  }

  #tooMany(): void {
    this.#fatal = true;
    const message = `more than ${this.#rules.requests} requests in one file, the server's limits.requests_per_batch; ${splitAdvice}`;
    this.#faults.addFirst({ code: 'too_many_tasks', message });
  }

  /** Converts a line number to the request of an inline batch. */
  #inLine(fault: Fault): Fault {
    const { line, param, ...rest } = fault;
    if (this.#target.source === 'file' || line === undefined) return fault;
    return { ...rest, param: `requests[${line - 1}]${param === undefined ? '' : `.${param}`}` };
  }

  #assertOpen(): void {
    if (this.#ended) throw new Error('This upload has ended.');
  }
}

const splitAdvice = 'offpeak batch run splits such a file into several batches';

function refusal(resolve: () => unknown): ApiError | undefined {
  try {
    resolve();
    return undefined;
  } catch (error) {
    if (error instanceof ApiError) return error;
    throw error;
  }
}

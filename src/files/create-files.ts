import type { Gate } from '../base/fair-gate.ts';
import { isId } from '../base/ids.ts';
import { isBlobLost, lostBlob } from '../core/blob-error.ts';
import { ApiError, notFound } from '../core/errors.ts';
import type { StoredFile } from '../core/file.ts';
import type { Caller } from '../core/org.ts';
import type { StorageStore } from '../store/contract/storage.ts';
import type { IdempotencyToken } from '../store/contract/idempotency.ts';
import type { Files, SealedUpload } from './files.ts';
import { inlineFiles, type InlineDeps } from './inline-files.ts';
import type { InputIndex } from './input-index.ts';
import { decodeIndex } from './input-index-codec.ts';
import { createFileQuota, fileByteLimits, tooMuchStored } from './quota.ts';
import { createSweeper, removeContent, stillThere, type SweeperDeps } from './sweeper.ts';
import { SpooledUpload, type UploadDeps, indexName } from './upload.ts';
import { createVerifiedReads, requireLength } from './verified-bytes.ts';

/** Files that one statement of a list reads. */
const sliceFiles = 100;

export interface FilesDeps extends UploadDeps, SweeperDeps {
  store: SweeperDeps['store'] & { storage: StorageStore };
  /** Shares the reads of many rows among orgs. */
  scans: Gate;
}

/** Files on any store and any blobs. Starting it starts the hourly sweep. */
export function createFiles(deps: FilesDeps): Files {
  const { store, blobs, clock, ids, log, scans } = deps;
  const sweeper = createSweeper(deps);
  const read = createVerifiedReads(blobs);
  const quota = createFileQuota(store.storage, deps.storedBytesPerOrg, deps.requireDisk);

  const find = async (orgId: string, id: string): Promise<StoredFile | undefined> =>
    isId('file-', id) ? store.files.get(orgId, id, clock.now()) : undefined;

  async function get(caller: Caller, id: string): Promise<StoredFile> {
    const file = await find(caller.orgId, id);
    if (!file) throw notFound('file');
    return file;
  }

  /** Turns the loss of a blob into `not_found` if the file was deleted meanwhile. */
  async function unlessGone<T>(file: StoredFile, reading: Promise<T>): Promise<T> {
    return reading.catch(async (error: unknown) => {
      if (isBlobLost(error) && !(await store.files.find(file.id))) throw notFound('file');
      throw error;
    });
  }

  async function readIndex(file: StoredFile): Promise<InputIndex> {
    const name = indexName(file.blobId);
    const size = await blobs.size(name);
    if (size === undefined) throw lostBlob('missing', `The index of ${file.id} (${name}) is missing.`);
    return decodeIndex(await blobs.slice(name, 0, size));
  }

  function sealed(caller: Caller, file: StoredFile, index: SealedUpload['index']): SealedUpload {
    const discard = () => removeContent(blobs, file.blobId);
    return { file, index, discard, commit: (creation) => commit(caller, file, creation, discard) };
  }

  /** Inserts the row; a file without one keeps no blob. */
  async function commit(
    caller: Caller,
    file: StoredFile,
    creation: IdempotencyToken | undefined,
    discard: () => Promise<void>,
  ) {
    const limits = fileByteLimits(caller, deps.storedBytesPerOrg);
    const responses = deps.userFiles?.bytesPerOrg ?? Infinity;
    const inserted = await store.files.insert(file, creation, clock.now(), { ...limits, responses });
    if (inserted.outcome === 'created') return { file, replayed: false };
    await discard();
    if (inserted.outcome === 'mismatch')
      throw new ApiError(
        'idempotency_mismatch',
        'This Idempotency-Key was used with another file or other fields.',
      );
    if (inserted.outcome === 'too_much' && inserted.quota !== 'responses')
      throw tooMuchStored(inserted.quota, limits);
    if (inserted.outcome === 'too_much')
      throw new ApiError(
        'storage_quota_exceeded',
        `With this file the org would store more than its ${responses} bytes (limits.response_bytes_per_org). Delete some files or responses, or wait until some expire.`,
      );
    const first = await store.files.find(inserted.id);
    if (!first) throw notFound('file');
    return { file: first, replayed: true };
  }

  const inlineDeps: InlineDeps = { find, read };
  const purposes = deps.userFiles?.purposes ?? [];

  return {
    inline: async (orgId, text, maxBytes, hold) =>
      purposes.length > 0 ? inlineFiles(inlineDeps, orgId, text, maxBytes, hold) : text,
    purposes: ['batch', ...purposes],
    get,
    start: () => sweeper.start(),
    stop: () => sweeper.stop(),

    async begin(caller, options = {}) {
      const { source = 'file', purpose = 'batch', isDiscarded = false, rules } = options;
      const { isStrict = deps.isStrict } = options;
      const share = isDiscarded ? quota.uncounted : await quota.open(caller);
      const blobId = ids.next('blob_');
      const writer = await blobs.create(blobId);
      return new SpooledUpload(
        deps,
        {
          caller,
          source,
          purpose,
          share,
          rules,
          isStrict,
          sealed: (file, index) => sealed(caller, file, index),
        },
        blobId,
        writer,
      );
    },

    async *list({ orgId }, query, signal) {
      let { after, limit: left } = query;
      const isLong = left > sliceFiles;
      for (;;) {
        const size = Math.min(left, sliceFiles);
        const page = { ...query, ...(after !== undefined && { after }), limit: size + 1, now: clock.now() };
        const slice = () => store.files.list(orgId, page);
        const found = await (isLong ? scans.within(orgId, 1, signal, slice) : slice());
        yield found.slice(0, size);
        left -= size;
        if (left === 0 || found.length <= size) return found.length > size;
        after = found[size - 1]!.id;
      }
    },

    async remove({ orgId }, id) {
      if (!isId('file-', id)) throw notFound('file');
      const removed = await store.files.remove(orgId, id, clock.now());
      if (removed.outcome === 'missing') throw notFound('file');
      if (removed.outcome === 'in_use')
        throw new ApiError(
          'file_in_use',
          `A batch that is not finished reads ${id}; cancel that batch first.`,
        );
      if (removed.outcome !== 'removed') return;
      const { blobId } = removed.file;
      try {
        await removeContent(blobs, blobId);
        await store.files.forgetRemoved([blobId]);
      } catch (error) {
        // The client's file is gone with its row.
        log.error({ err: error, file: id, blob: blobId }, stillThere);
      }
    },

    read: (file, range) => unlessGone(file, read(file, range)),
    requireContent: (file) => unlessGone(file, requireLength(blobs, file)),
    index: (file) => unlessGone(file, readIndex(file)),
  };
}

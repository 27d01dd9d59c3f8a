import { ApiError } from '../core/errors.ts';
import { familyOf } from '../core/key-family.ts';
import type { Caller } from '../core/org.ts';
import type { FileByteLimits, StorageStore } from '../store/contract/storage.ts';

/** Limits on the bytes of files that apply to a caller. @param maxBytes of an org that has no limit of its own */
export function fileByteLimits({ limits }: Pick<Caller, 'limits'>, maxBytes: number): FileByteLimits {
  const org = limits?.org.storedBytes ?? maxBytes;
  const key = limits?.key.storedBytes;
  return { org, ...(key !== undefined && { key }) };
}

export function tooMuchStored(quota: keyof FileByteLimits, { [quota]: max }: FileByteLimits): ApiError {
  const owner = quota === 'org' ? 'org' : 'API key';
  const message = `The files of this ${owner} would exceed its limit of ${max} bytes (stored_bytes), results included. Delete some files or wait until some expire.`;
  return new ApiError('storage_quota_exceeded', message);
}

/** Bytes of one upload, counted while they arrive. */
export interface UploadShare {
  /** @throws ApiError `storage_quota_exceeded` (402), `insufficient_storage` (507) */
  add(bytes: number): void;
  release(): void;
}

/**
 * Refuses uploads that cannot be stored before they are on the disk. Uploads in progress count together; the store decides at the
 * end, exactly and over all processes.
 */
export function createFileQuota(store: StorageStore, maxBytes: number, requireDisk: () => void) {
  const uploading = new Map<string, number>();

  return {
    /** For bytes that are never stored. */
    uncounted: { add: requireDisk, release() {} } satisfies UploadShare,

    async open(caller: Caller): Promise<UploadShare> {
      requireDisk();
      const limits = fileByteLimits(caller, maxBytes);
      const owners = { org: caller.orgId, key: familyOf(caller) };
      const stored = await store.stored(Object.values(owners));
      const kept = new Map(stored.map(({ ownerId, fileBytes }) => [ownerId, fileBytes]));
      let own = 0;

      const change = (bytes: number) => {
        own += bytes;
        for (const id of Object.values(owners)) {
          const left = (uploading.get(id) ?? 0) + bytes;
          if (left > 0) uploading.set(id, left);
          else uploading.delete(id);
        }
      };
      return {
        add(bytes) {
          requireDisk();
          change(bytes);
          for (const [quota, id] of Object.entries(owners) as [keyof FileByteLimits, string][])
            if ((kept.get(id) ?? 0) + uploading.get(id)! > (limits[quota] ?? Infinity))
              throw tooMuchStored(quota, limits);
        },
        release: () => change(-own),
      };
    },
  };
}

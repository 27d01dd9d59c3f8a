import { ApiError } from '../core/errors.ts';
import type { ResponseStore } from '../store/contract/responses.ts';
import type { StoredBytes } from '../store/contract/stored-bytes.ts';

export type Quota = ReturnType<typeof createQuota>;

/** Limits the bytes that each org stores. */
export function createQuota(store: Pick<ResponseStore, 'storedBytes'>, maxBytes: number) {
  const stored = new Map<string, number>();
  const reserved = new Map<string, number>();

  return {
    /**
     * Reserves bytes before a response is generated, and so billed; the returned function releases them.
     * @throws ApiError `storage_quota_exceeded` (402)
     */
    async reserve(orgId: string, bytes: number) {
      const fits = () => (stored.get(orgId) ?? Infinity) + (reserved.get(orgId) ?? 0) + bytes <= maxBytes;
      // The noted total may be outdated by other processes and by deletions.
      if (!fits()) stored.set(orgId, await store.storedBytes(orgId));
      if (!fits())
        throw new ApiError(
          'storage_quota_exceeded',
          `This org stores ${stored.get(orgId) ?? 0} of ${maxBytes} bytes in responses, conversations, chat completions and ` +
            'files, too much for this request. Delete some, wait until some expire, or send store: false.',
        );
      reserved.set(orgId, (reserved.get(orgId) ?? 0) + bytes);
      return () => {
        const left = reserved.get(orgId)! - bytes;
        if (left > 0) reserved.set(orgId, left);
        else reserved.delete(orgId);
      };
    },

    /** Updates the totals of orgs after a write. */
    note(totals: readonly StoredBytes[]) {
      for (const { orgId, bytes } of totals) stored.set(orgId, bytes);
    },
  };
}

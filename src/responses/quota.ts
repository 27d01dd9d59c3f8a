import { ApiError } from '../core/errors.ts';
import type { ResponseStore } from '../store/contract/responses.ts';
import type { StoredBytes } from '../store/contract/stored-bytes.ts';

export type Quota = ReturnType<typeof createQuota>;

/** Keeps what an org stores within its share of the disk. */
export function createQuota(store: Pick<ResponseStore, 'storedBytes'>, mostBytes: number) {
  const stored = new Map<string, number>();
  const reserved = new Map<string, number>();

  return {
    /**
     * Asked before a response is made: afterwards it would have been paid for. What is reserved counts until it is given back.
     * @throws ApiError `storage_quota_exceeded` (402)
     */
    async reserve(orgId: string, bytes: number) {
      const fits = () => (stored.get(orgId) ?? Infinity) + (reserved.get(orgId) ?? 0) + bytes <= mostBytes;
      // What was noted last may be long ago: others write too, and what was deleted makes room.
      if (!fits()) stored.set(orgId, await store.storedBytes(orgId));
      if (!fits())
        throw new ApiError(
          'storage_quota_exceeded',
          `The responses, conversations, chat completions and files that this org stores have ${stored.get(orgId) ?? 0} of ` +
            `${mostBytes} bytes, and this one does not fit with those being made. Delete some, wait until some expire, or ` +
            'send store: false.',
        );
      reserved.set(orgId, (reserved.get(orgId) ?? 0) + bytes);
      return () => {
        const left = reserved.get(orgId)! - bytes;
        if (left > 0) reserved.set(orgId, left);
        else reserved.delete(orgId);
      };
    },

    /** What orgs had stored when something was written. */
    note(totals: readonly StoredBytes[]) {
      for (const { orgId, bytes } of totals) stored.set(orgId, bytes);
    },
  };
}

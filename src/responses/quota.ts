import { ApiError } from '../core/errors.ts';
import { familyOf } from '../core/key-family.ts';
import type { Caller } from '../core/org.ts';
import type { StorageStore, Stored } from '../store/contract/storage.ts';

export type Quota = ReturnType<typeof createQuota>;

type Amount = Pick<Stored, 'bytes' | 'responses'>;

/** Limits of an org without limits of its own. */
export interface QuotaLimits {
  bytes: number;
  responses: number;
}

const nothing: Amount = { bytes: 0, responses: 0 };

/** Limits the bytes and the responses that each org stores, and the responses of each key. */
export function createQuota(store: StorageStore, defaults: QuotaLimits, requireDisk: () => void) {
  const stored = new Map<string, Amount>();
  const reserved = new Map<string, Amount>();

  function change(id: string, { bytes, responses }: Amount, sign: 1 | -1): void {
    const now = reserved.get(id) ?? nothing;
    const next = { bytes: now.bytes + sign * bytes, responses: now.responses + sign * responses };
    if (next.responses > 0) reserved.set(id, next);
    else reserved.delete(id);
  }

  const note = (sums: readonly Stored[]) => {
    for (const { ownerId, bytes, responses } of sums) stored.set(ownerId, { bytes, responses });
  };

  return {
    /**
     * Reserves room before a response is generated, and so billed; the returned function releases it.
     * @param responses rows to store
     * @throws ApiError `storage_quota_exceeded` (402), `insufficient_storage` (507)
     */
    async reserve(caller: Caller, bytes: number, responses = 1) {
      requireDisk();
      const { orgId, limits } = caller;
      const owners = [
        { id: orgId, name: 'org', ...defaults, responses: limits?.org.storedResponses ?? defaults.responses },
        {
          id: familyOf(caller),
          name: 'API key',
          bytes: Infinity,
          responses: limits?.key.storedResponses ?? Infinity,
        },
      ];
      const refusal = () => {
        for (const { id, name, bytes: maxBytes, responses: maxResponses } of owners) {
          const [have, soon] = [
            stored.get(id) ?? { bytes: Infinity, responses: Infinity },
            reserved.get(id) ?? nothing,
          ];
          if (have.bytes + soon.bytes + bytes > maxBytes)
            return refuse(
              name,
              `${have.bytes} of ${maxBytes} bytes in responses, conversations, chat completions and files`,
            );
          if (have.responses + soon.responses + responses > maxResponses)
            return refuse(
              name,
              `${have.responses} of ${maxResponses} responses, chat completions and conversation items (stored_responses)`,
            );
        }
        return undefined;
      };
      // The noted sums may be outdated by other processes and by deletions.
      if (refusal()) {
        const ids = owners.map(({ id }) => id);
        const sums = await store.stored(ids);
        for (const id of ids) stored.set(id, sums.find(({ ownerId }) => ownerId === id) ?? nothing);
      }
      const refused = refusal();
      if (refused) throw refused;
      const ids = owners.map(({ id }) => id);
      for (const id of ids) change(id, { bytes, responses }, 1);
      return () => {
        for (const id of ids) change(id, { bytes, responses }, -1);
      };
    },

    /** Updates the sums of orgs and keys after a write. */
    note,

    /** Makes the next reservation read the sums of a caller, after a write whose sums are unknown here. */
    forget(caller: Caller) {
      stored.delete(caller.orgId);
      stored.delete(familyOf(caller));
    },
  };
}

function refuse(owner: string, what: string): ApiError {
  return new ApiError(
    'storage_quota_exceeded',
    `This ${owner} stores ${what}, too much for this request. Delete some, wait until some expire, or send store: false.`,
  );
}

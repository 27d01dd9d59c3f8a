import type { Clock } from '../base/clock.ts';
import type { LimitUse, LimitUseName } from '../core/limit-use.ts';
import type { CallerLimits, Limits } from '../core/limits.ts';
import { type QueuedWork, withDefaults } from '../core/queue-limits.ts';
import type { BatchStore } from '../store/contract/batches.ts';
import type { Stored, StorageStore } from '../store/contract/storage.ts';
import type { RequestLimiter } from './limiter.ts';
import type { RequestLimitUse } from './limit-use.ts';

/** Org, and possibly one of its keys, with their own limits. */
export interface LimitSubject {
  orgId: string;
  orgLimits: Limits;
  /** Key under the id of its family, because all of its keys count together. */
  key?: { family: string; limits: Limits } | undefined;
}

/** Limits of orgs and keys that are in force, with their use. */
export interface LimitReport {
  /** Limits of the org, then those of the key. */
  read(subject: LimitSubject): Promise<LimitUse[]>;
}

export interface LimitReportDeps {
  store: { batches: Pick<BatchStore, 'queued'>; storage: StorageStore };
  limiter: Pick<RequestLimiter, 'read'>;
  /** Limits of orgs and keys that have none of their own. */
  defaults: CallerLimits;
  /** Bytes of responses, conversations, chat completions and files that are not for batches, of each org. */
  responseBytesPerOrg: number;
  /** Current id of a model. */
  idOf: (model: string) => string;
  clock: Pick<Clock, 'now'>;
}

/** Use of everything that an org or a key has limits on. */
interface OwnerUse {
  owner: LimitUse['owner'];
  limits: Limits;
  responseBytes?: number;
  requests: readonly RequestLimitUse[];
  queued: QueuedWork;
  stored: Omit<Stored, 'ownerId'>;
}

const nothing = { bytes: 0, fileBytes: 0, responses: 0 };

/**
 * Reads limits where they are counted: the rates from the limiter, the queue from the unfinished batches, and the storage from its
 * sums. So the report agrees with the next refusal.
 */
export function createLimitReport(deps: LimitReportDeps): LimitReport {
  const { store, limiter, defaults, idOf, clock } = deps;
  const inForce = (own: Limits, others: Limits): Limits => ({
    ...others,
    ...own,
    ...withDefaults(own, others, idOf),
  });

  return {
    async read({ orgId, orgLimits, key }) {
      const owners = [
        { id: orgId, limits: inForce(orgLimits, defaults.org) },
        ...(key ? [{ id: key.family, limits: inForce(key.limits, defaults.key) }] : []),
      ];
      const [requests, queued, stored] = await Promise.all([
        limiter.read(owners),
        store.batches.queued(orgId, key?.family ?? ''),
        store.storage.stored(owners.map(({ id }) => id)),
      ]);
      const now = clock.now();
      return owners.flatMap(({ id, limits }, at) =>
        usesOf(
          {
            limits,
            requests: requests[at]!,
            stored: stored.find(({ ownerId }) => ownerId === id) ?? nothing,
            ...(at === 0
              ? { owner: 'org', queued: queued.org, responseBytes: deps.responseBytesPerOrg }
              : { owner: 'key', queued: queued.key }),
          },
          now,
        ),
      );
    },
  };
}

function usesOf(
  { owner, limits, responseBytes, requests, queued, stored }: OwnerUse,
  now: number,
): LimitUse[] {
  const after = (ms: number | null) => (ms === null || ms === 0 ? null : now + ms);
  const timed = requests.map(({ name, limit, used, waitMs, resetMs }) => ({
    name,
    owner,
    model: null,
    limit,
    used,
    availableAt: after(waitMs),
    resetsAt: after(resetMs),
  }));
  const use = (
    name: LimitUseName,
    limit: number | undefined,
    used: number,
    model: string | null = null,
  ): LimitUse[] =>
    limit === undefined ? [] : [{ name, owner, model, limit, used, availableAt: null, resetsAt: null }];
  return [
    ...timed,
    ...use('open_batches', limits.openBatches, queued.batches),
    ...use('queued_requests', limits.queuedRequests, queued.requests),
    ...Object.entries(limits.queuedTokens ?? {}).flatMap(([model, limit]) =>
      use('queued_tokens', limit, queued.tokens[model] ?? 0, model),
    ),
    ...use('stored_bytes', limits.storedBytes, stored.fileBytes),
    ...use('stored_responses', limits.storedResponses, stored.responses),
    ...use('response_bytes', responseBytes, stored.bytes),
  ];
}

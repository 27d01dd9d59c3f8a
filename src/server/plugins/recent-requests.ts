import type { AnsweredCall } from '../../core/call-trace.ts';
import type { RecentRequest } from '../../core/recent-request.ts';

/** Single requests that a process remembers. */
const capacity = 1_000;

export type RecentRequests = ReturnType<typeof createRecentRequests>;

/** Remembers the last single requests of this process, without their content. */
export function createRecentRequests() {
  const ring: RecentRequest[] = [];
  let next = 0;

  return {
    /** Requests without a key are not remembered: they would displace the others. */
    add({ requestId, startedAt, caller, endpoint, status, code, ms, trace }: AnsweredCall): void {
      if (!caller?.keyId) return;
      ring[next] = {
        id: requestId,
        startedAt,
        orgId: caller.orgId,
        keyId: caller.keyId,
        keyName: caller.keyName ?? '',
        endpoint,
        status,
        code: code ?? null,
        ms,
        queuedMs: trace.queuedMs ?? null,
        firstMs: trace.firstOutputMs ?? null,
        model: trace.model ?? null,
        server: trace.server ?? null,
        usage: trace.billed ?? null,
        prices: trace.prices ?? null,
      };
      next = (next + 1) % capacity;
    },
    /** Oldest first. */
    list: (): RecentRequest[] => [...ring.slice(next), ...ring.slice(0, next)],
  };
}

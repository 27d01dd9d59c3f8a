import type { Clock } from '../base/clock.ts';
import type { CallerLimits, Limits } from '../core/limits.ts';
import { addNeeds, longestWait, type Need, rateStates, take } from './admit.ts';
import type { RequestLimiter } from './limiter.ts';
import { LocalSubjects } from './local-subjects.ts';
import { refusal } from './refusal.ts';

/** Limits of single requests for a process that alone uses its database. */
export function createRequestLimiter({
  clock,
  defaults,
}: {
  clock: Clock;
  /** Limits of orgs and keys that have none of their own. */
  defaults: CallerLimits;
}): RequestLimiter {
  const orgs = new LocalSubjects();
  const keys = new LocalSubjects();
  const now = () => clock.monotonic();

  return {
    get size() {
      return orgs.size + keys.size;
    },
    apply: ({ limits }) =>
      hasAny(defaults.org) || hasAny(defaults.key) || hasAny(limits?.org) || hasAny(limits?.key),
    admit({ orgId, keyId, limits }, estimate, onRates) {
      const needs: Need[] = [];
      const tokens = once(estimate);
      const org = { owner: 'org', own: limits?.org, defaults: defaults.org } as const;
      const key = { owner: 'key', own: limits?.key, defaults: defaults.key } as const;
      addNeeds(needs, org, () => orgs.of(orgId, now()), tokens);
      addNeeds(needs, key, () => keys.of(keyId, now()), tokens);
      const blocked = longestWait(needs, now());
      if (blocked) {
        onRates?.(rateStates(needs, now()));
        throw refusal(blocked.need, blocked.waitMs, now());
      }
      const admission = take(needs, now);
      onRates?.(admission.rates);
      return admission;
    },
    start: () => Promise.resolve(),
    stop: () => Promise.resolve(),
  };
}

function hasAny(limits: Limits | undefined): boolean {
  return (
    limits !== undefined &&
    (limits.requestsPerMinute !== undefined ||
      limits.concurrentRequests !== undefined ||
      limits.inputTokensPerMinute !== undefined ||
      limits.outputTokensPerMinute !== undefined)
  );
}

function once<T>(make: () => T): () => T {
  let value: T | undefined;
  return () => (value ??= make());
}

import type { Clock } from '../base/clock.ts';
import { familyOf } from '../core/key-family.ts';
import type { CallerLimits, Limits } from '../core/limits.ts';
import type { RateState } from '../core/rates.ts';
import { addNeeds, longestWait, type Need, rateStates, take } from './admit.ts';
import type { Admission, RequestLimiter } from './limiter.ts';
import { requestLimitUses } from './limit-use.ts';
import { refusal } from './refusal.ts';
import type { Subjects } from './subjects.ts';

/** Attempts to get a share for a request before it is refused. */
const maxFetches = 5;
/** Wait of a request that others were faster than each time. */
const raceMs = 50;

/** Limits of single requests, on the use that `subjects` count. */
export function createRequestLimiter(deps: {
  clock: Clock;
  /** Limits of orgs and keys that have none of their own. */
  defaults: CallerLimits;
  subjects: Subjects;
}): RequestLimiter {
  const { clock, defaults, subjects } = deps;
  const now = () => clock.monotonic();
  const hasDefaults = hasAny(defaults.org) || hasAny(defaults.key);

  type OnRates = ((rates: readonly RateState[]) => void) | undefined;

  function refuse(needs: readonly Need[], need: Need, waitMs: number, onRates: OnRates): never {
    onRates?.(rateStates(needs, now()));
    throw refusal(need, waitMs, now());
  }

  /** Returns the needs for which this process has no share. @throws ApiError `rate_limit_exceeded` */
  function missing(needs: readonly Need[], onRates: OnRates): Need[] {
    const blocked = longestWait(needs, now());
    if (blocked) refuse(needs, blocked.need, blocked.waitMs, onRates);
    return needs.filter(({ bucket, amount }) => amount > 0 && bucket.lacks(amount));
  }

  function admitted(needs: readonly Need[], onRates: OnRates): Admission {
    const admission = take(needs, now);
    onRates?.(admission.rates);
    return admission;
  }

  async function fetched(needs: readonly Need[], lacking: Need[], onRates: OnRates): Promise<Admission> {
    let left = lacking;
    for (let fetches = 0; left.length > 0; fetches++) {
      if (fetches === maxFetches) refuse(needs, left[0]!, raceMs, onRates);
      await subjects.fetch(left);
      left = missing(needs, onRates);
    }
    return admitted(needs, onRates);
  }

  return {
    get size() {
      return subjects.size;
    },
    async read(owners) {
      const uses = await subjects.read(owners);
      return owners.map(({ limits }, at) => requestLimitUses(limits, uses[at]!));
    },
    apply: ({ limits }) => hasDefaults || hasAny(limits?.org) || hasAny(limits?.key),
    admit(caller, estimate, onRates) {
      const { orgId, limits } = caller;
      const needs: Need[] = [];
      const at = now();
      const tokens = once(estimate);
      const org = { owner: 'org', own: limits?.org, defaults: defaults.org } as const;
      const key = { owner: 'key', own: limits?.key, defaults: defaults.key } as const;
      addNeeds(needs, org, () => subjects.of(orgId, at), tokens);
      addNeeds(needs, key, () => subjects.of(familyOf(caller), at), tokens);
      const lacking = missing(needs, onRates);
      return lacking.length === 0 ? admitted(needs, onRates) : fetched(needs, lacking, onRates);
    },
    start: () => subjects.start(),
    stop: () => subjects.stop(),
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

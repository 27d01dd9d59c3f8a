import type { Limits } from '../core/limits.ts';
import { rateFields, rates, type RateState } from '../core/rates.ts';
import type { Kind } from './kinds.ts';
import type { Admission, TokenAmounts } from './limiter.ts';

/** Time after which a request in flight may have ended. */
export const concurrentRetryMs = 1_000;

/** Use of one limit. `now` is monotonic. */
export interface Bucket {
  /** True if `amount` may fit, but this process has no share for it. */
  lacks(amount: number): boolean;
  /** Milliseconds until `amount` fits; 0 if it fits now. */
  waitMs(amount: number, limit: number, now: number): number;
  /** Counts `amount` as used; a negative amount returns it. */
  add(amount: number, limit: number, now: number): void;
  state(limit: number, now: number): { remaining: number; resetMs: number };
}

/** Buckets of one org or key. */
export interface Subject {
  bucket(kind: Kind): Bucket;
}

/** Part of a request that one limit must admit. */
export interface Need {
  owner: 'org' | 'key';
  kind: Kind;
  limit: number;
  /** At most `limit`, so that a larger request is admitted when nothing of the limit is used. */
  amount: number;
  subject: Subject;
  bucket: Bucket;
}

/** Appends the needs of a request under these limits. A limit of the org or key replaces the default. */
export function addNeeds(
  needs: Need[],
  { owner, own, defaults }: { owner: Need['owner']; own: Limits | undefined; defaults: Limits },
  find: () => Subject,
  estimate: () => TokenAmounts,
): void {
  const add = (kind: Kind, limit: number, amount: number) => {
    const subject = find();
    needs.push({ owner, kind, limit, amount, subject, bucket: subject.bucket(kind) });
  };
  for (const rate of rates) {
    const limit = own?.[rateFields[rate]] ?? defaults[rateFields[rate]];
    if (limit === undefined) continue;
    const asked = rate === 'requests' ? 1 : estimate()[rate];
    add(rate, limit, Math.min(asked, Math.max(1, limit)));
  }
  const limit = own?.concurrentRequests ?? defaults.concurrentRequests;
  if (limit !== undefined) add('concurrent', limit, 1);
}

/** The need with the longest wait; undefined if all fit now. */
export function longestWait(needs: readonly Need[], now: number): { need: Need; waitMs: number } | undefined {
  let longest: { need: Need; waitMs: number } | undefined;
  for (const need of needs) {
    const waitMs = waitOf(need, now);
    if (waitMs > (longest?.waitMs ?? 0)) longest = { need, waitMs };
  }
  return longest;
}

function waitOf({ amount, limit, bucket }: Need, now: number): number {
  if (amount === 0) return 0;
  return limit === 0 ? Number.POSITIVE_INFINITY : bucket.waitMs(amount, limit, now);
}

/** State of each limited rate: of the org or the key, whichever has less left. */
export function rateStates(needs: readonly Need[], now: number): RateState[] {
  const states: RateState[] = [];
  for (const { kind, limit, bucket } of needs) {
    if (kind === 'concurrent') continue;
    const state = { rate: kind, limit, ...bucket.state(limit, now) };
    const at = states.findIndex(({ rate }) => rate === kind);
    if (at < 0) states.push(state);
    else if (state.remaining < states[at]!.remaining) states[at] = state;
  }
  return states;
}

/** Takes all needs, which fit. */
export function take(needs: readonly Need[], now: () => number): Admission {
  const taken = now();
  for (const { bucket, amount, limit } of needs) bucket.add(amount, limit, taken);
  let ended = false;
  return {
    rates: rateStates(needs, taken),
    end(used) {
      if (ended) return;
      ended = true;
      const at = now();
      for (const { kind, bucket, amount, limit } of needs) {
        if (kind === 'requests') continue;
        const change = kind === 'concurrent' ? -amount : used[kind] - amount;
        if (change !== 0) bucket.add(change, limit, at);
      }
    },
  };
}

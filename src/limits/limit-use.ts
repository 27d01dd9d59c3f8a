import type { RequestLimits } from '../core/limits.ts';
import {
  emptyMeter,
  type Meter,
  type Rate,
  rateFields,
  rates,
  resetOf,
  usedOf,
  waitFor,
} from '../core/rates.ts';
import { kindNames } from './kinds.ts';

/** Org or key with limits in force. */
export interface LimitedOwner {
  id: string;
  limits: RequestLimits;
}

/** Use of the limits of an org or key. Absent meters are empty. */
export interface SubjectUse {
  /** Drained to now, with the limits. */
  meters: Partial<Record<Rate, Meter>>;
  inFlight: number;
}

/** Use of one limit on single requests. Durations are in milliseconds. */
export interface RequestLimitUse {
  name: (typeof kindNames)[keyof typeof kindNames];
  limit: number;
  used: number;
  /** Until one more fits; 0 if one fits now, and null where time alone frees nothing. */
  waitMs: number | null;
  /** Until the whole limit is free, likewise. */
  resetMs: number | null;
}

/** Use of the limits that are set. */
export function requestLimitUses(limits: RequestLimits, { meters, inFlight }: SubjectUse): RequestLimitUse[] {
  const uses = rates.flatMap((rate): RequestLimitUse[] => {
    const limit = limits[rateFields[rate]];
    if (limit === undefined) return [];
    // A meter does not drain with a limit of 0, so nothing counts as used.
    const meter = (limit > 0 && meters[rate]) || emptyMeter();
    const times =
      limit === 0
        ? { waitMs: null, resetMs: null }
        : { waitMs: waitFor(meter, limit, 1), resetMs: resetOf(meter, limit) };
    return [{ name: kindNames[rate], limit, used: usedOf(meter), ...times }];
  });
  const limit = limits.concurrentRequests;
  if (limit === undefined) return uses;
  return [...uses, { name: kindNames.concurrent, limit, used: inFlight, waitMs: null, resetMs: null }];
}

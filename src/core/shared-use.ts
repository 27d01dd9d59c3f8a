import { sum } from '../base/sum.ts';
import type { RequestLimits } from './limits.ts';
import {
  drain,
  emptyMeter,
  fill,
  type Meter,
  type Rate,
  rateFields,
  rates as allRates,
  roomIn,
} from './rates.ts';

/** Use of the limits of one org or key by all processes on a database. Instants are epoch milliseconds. */
export interface SharedUse {
  meters: Partial<Record<Rate, Meter>>;
  /** Requests that each process may have in flight. */
  held: Record<string, { places: number; until: number }>;
}

/** Request of one process for a share of what is left. */
export interface ShareRequest {
  rates: Partial<Record<Rate, RateRequest>>;
  concurrent?: { limit: number; inFlight: number; wants: number };
}

export interface RateRequest {
  limit: number;
  /** Part of earlier shares that was not used, in units of `core/rates.ts`; negative for use beyond them. */
  unused: number;
  wants: number;
}

export interface Share {
  /** Granted amounts, and the use by all processes after that. */
  rates: Partial<Record<Rate, { granted: number; level: number }>>;
  /** Requests that the process may have in flight, and all processes together. */
  concurrent?: { places: number; taken: number };
}

/** Duration for which a process keeps its places without renewing them. */
const holdMs = 5_000;

/**
 * Grants a process its share: as much of a rate as it wants and is left, which counts as used at once. So all processes together never
 * admit more than the limit; a share that its process does not use is returned within seconds.
 */
export function shareUse(
  { meters: before, held }: SharedUse,
  process: string,
  { rates, concurrent }: ShareRequest,
  now: number,
): { use: SharedUse; share: Share } {
  const meters = { ...before };
  const share: Share = { rates: {} };
  for (const [rate, { limit, unused, wants }] of Object.entries(rates) as [Rate, RateRequest][]) {
    const meter = drained(meters[rate], limit, now);
    meter.level = Math.max(0, meter.level - unused);
    const granted = Math.min(wants, roomIn(meter, limit));
    fill(meter, granted);
    meters[rate] = meter;
    share.rates[rate] = { granted, level: meter.level };
  }
  const others = placesOfOthers(held, process, now);
  const use: SharedUse = { meters, held: Object.fromEntries(others) };
  if (concurrent) {
    const { limit, inFlight, wants } = concurrent;
    const taken = placesOf(others);
    const places = Math.max(inFlight, Math.min(inFlight + wants, limit - taken));
    if (places > 0) use.held[process] = { places, until: now + holdMs };
    share.concurrent = { places, taken: taken + places };
  }
  return { use, share };
}

/**
 * Use of the limits by all processes, as one of them knows it: what the others hold for their next second counts as used.
 * @param own requests of this process in flight, and the part of its shares that it has not used; negative after use beyond them
 */
export function readUse(
  { meters, held }: SharedUse,
  process: string,
  limits: RequestLimits,
  own: { unused: Partial<Record<Rate, number>>; inFlight: number },
  now: number,
): { meters: Partial<Record<Rate, Meter>>; inFlight: number } {
  const use: Partial<Record<Rate, Meter>> = {};
  for (const rate of allRates) {
    const limit = limits[rateFields[rate]];
    if (limit === undefined) continue;
    const meter = drained(meters[rate], limit, now);
    fill(meter, -(own.unused[rate] ?? 0));
    use[rate] = meter;
  }
  const elsewhere = placesOf(placesOfOthers(held, process, now));
  return { meters: use, inFlight: own.inFlight + elsewhere };
}

function drained(before: Meter | undefined, limit: number, now: number): Meter {
  const meter = { ...(before ?? emptyMeter()) };
  // After a correction of a database's clock that was ahead, nothing would drain until that instant.
  if (meter.at > now + holdMs) meter.at = Math.floor(now);
  drain(meter, limit, now);
  return meter;
}

/** Places of the other processes that have not lapsed. */
function placesOfOthers(held: SharedUse['held'], process: string, now: number) {
  return Object.entries(held).filter(
    ([name, { until }]) => name !== process && until > now && until <= now + 2 * holdMs,
  );
}

function placesOf(held: readonly [string, { places: number }][]): number {
  return sum(held.map(([, { places }]) => places));
}

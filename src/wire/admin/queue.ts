import { isoSeconds } from '../../base/clock.ts';
import { formatHours, type Hours, hoursAt } from '../../core/hours.ts';
import type { Waiting } from '../../core/waiting.ts';
import type { ModelWork } from '../../core/work-left.ts';
import { presentWaiting } from '../shared/waiting.ts';

/** Capacity of a model over all processes. */
export interface ModelSlots {
  slots: number;
  /** Slots that were found under load; null where all servers report theirs. */
  found: number | null;
  /** Slots that work on a request. */
  inUse: number;
  /** Requests in flight: those at drained servers too, and those that were sent ahead and wait at a server. */
  inFlight: number;
}

/** Work left for a model, and the reason why none of it runs. */
export interface ModelLoad {
  /** Absent for a model without work. */
  work?: ModelWork | undefined;
  /** Tokens per second; null while unknown. */
  rate: number | null;
  waiting: Waiting | null;
  /** Undefined for a model whose batches run at any time. */
  hours?: Hours | undefined;
}

/** Org with its part of the slots of a model. */
export interface OrgShare {
  name: string | null;
  weight: number;
}

export function presentModelQueue(
  model: string,
  { slots, found, inUse, inFlight }: ModelSlots,
  orgs: ReadonlyMap<string, OrgShare>,
  { work, rate, waiting: stop, hours }: ModelLoad,
  now: number,
) {
  const waiting = work?.orgs ?? [];
  const weightOf = (orgId: string) => orgs.get(orgId)?.weight ?? 1;
  const total = waiting.reduce((sum, { orgId }) => sum + weightOf(orgId), 0);
  return {
    object: 'model_queue' as const,
    model,
    requests: work?.requests ?? 0,
    tokens: work?.tokens ?? 0,
    // The rate so far does not show when a model takes requests again.
    seconds: stop ? null : work ? rounded(work.seconds) : 0,
    tokens_per_second: rounded(rate),
    slack_seconds: stop || !work ? null : rounded(work.slackSeconds),
    needed_tokens_per_second: rounded(work?.neededTokensPerSecond ?? 0),
    slots,
    found,
    in_use: inUse,
    in_flight: inFlight,
    waiting: presentWaiting(stop),
    hours: hours ? presentHours(hours, now) : null,
    orgs: waiting.map(({ orgId, requests, tokens }) => ({
      org_id: orgId,
      org: orgs.get(orgId)?.name ?? null,
      share: Math.round((weightOf(orgId) / total) * 1000) / 1000,
      requests,
      tokens,
    })),
  };
}

function presentHours(hours: Hours, now: number) {
  const { isOpen, until } = hoursAt(hours, now);
  return { open: formatHours(hours), share: hours.share, is_open: isOpen, changes_at: isoSeconds(until) };
}

function rounded(seconds: number | null): number | null {
  return seconds === null ? null : Math.round(seconds * 10) / 10;
}

import type { ModelWork } from '../../core/work-left.ts';

/** Capacity of a model over all processes. */
export interface ModelSlots {
  slots: number;
  /** Slots that were found under load; null where all servers report theirs. */
  found: number | null;
  inFlight: number;
}

/** Org with its part of the slots of a model. */
export interface OrgShare {
  name: string | null;
  weight: number;
}

/** @param work absent for a model without work */
export function presentModelQueue(
  model: string,
  { slots, found, inFlight }: ModelSlots,
  orgs: ReadonlyMap<string, OrgShare>,
  work?: ModelWork,
) {
  const waiting = work?.orgs ?? [];
  const weightOf = (orgId: string) => orgs.get(orgId)?.weight ?? 1;
  const total = waiting.reduce((sum, { orgId }) => sum + weightOf(orgId), 0);
  return {
    object: 'model_queue' as const,
    model,
    requests: work?.requests ?? 0,
    tokens: work?.tokens ?? 0,
    seconds: work ? rounded(work.seconds) : 0,
    slack_seconds: work ? rounded(work.slackSeconds) : null,
    slots,
    found,
    in_use: inFlight,
    orgs: waiting.map(({ orgId, requests, tokens }) => ({
      org_id: orgId,
      org: orgs.get(orgId)?.name ?? null,
      share: Math.round((weightOf(orgId) / total) * 1000) / 1000,
      requests,
      tokens,
    })),
  };
}

function rounded(seconds: number | null): number | null {
  return seconds === null ? null : Math.round(seconds * 10) / 10;
}

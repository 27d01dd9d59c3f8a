import type { LimitUse } from '../../core/limit-use.ts';
import { nullable } from '../shared/instant.ts';

/** Owner of the limits of a report. */
export interface LimitsOwner {
  orgId: string;
  /** Name of the org. */
  org: string | null;
  /** Null for a report about the org alone. */
  keyId: string | null;
}

/** Rates free something within milliseconds. */
const instantOrNull = nullable((ms: number) => new Date(ms).toISOString());

export function presentLimits({ orgId, org, keyId }: LimitsOwner, uses: readonly LimitUse[]) {
  return {
    object: 'list' as const,
    org_id: orgId,
    org,
    key_id: keyId,
    data: uses.map(presentLimit),
    has_more: false,
  };
}

function presentLimit({ name, owner, model, limit, used, availableAt, resetsAt }: LimitUse) {
  return {
    object: 'limit' as const,
    name,
    owner,
    model,
    limit,
    used,
    remaining: Math.max(0, limit - used),
    available_at: instantOrNull(availableAt),
    resets_at: instantOrNull(resetsAt),
  };
}

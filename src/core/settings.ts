import { isoSeconds } from '../base/clock.ts';
import type { Budget } from './budget.ts';
import { namedLimits } from './limits.ts';
import type { ApiKey, Org } from './org.ts';
import { formatDollars } from './price.ts';

// Settings as the API names them, without secrets: for answers and for the audit log.

export function orgSettings(org: Org) {
  return {
    name: org.name,
    weight: org.weight,
    limits: namedLimits(org.limits),
    disabled: org.disabledAt !== null,
  };
}

export function budgetSettings(budget: Budget) {
  return { amount: formatDollars(BigInt(budget.amount)), period: budget.period, hard: budget.hard !== false };
}

export function keySettings(key: ApiKey) {
  return {
    org_id: key.orgId,
    name: key.name,
    scopes: key.scopes,
    models: key.models,
    limits: namedLimits(key.limits),
    priority: key.maxPriority,
    service_tier: key.serviceTier,
    budget: key.budget && budgetSettings(key.budget),
    expires_at: key.expiresAt === null ? null : isoSeconds(key.expiresAt),
    disabled: key.disabledAt !== null,
  };
}

import { isoSeconds } from '../base/clock.ts';
import type { Budget } from './budget.ts';
import { limitNames, limitFields } from './limits.ts';
import { type ApiKey, hasScope } from './org.ts';
import { formatDollars } from './price.ts';

/** Settings of a key that bound what it may do. */
export type Grant = Pick<ApiKey, 'scopes' | 'models' | 'expiresAt' | 'limits' | 'maxPriority' | 'budget'>;

/** Setting in which a key exceeds another one. */
export interface Excess {
  /** Field in the API. */
  field: string;
  /** Bound of the other key. */
  bound: string;
}

/**
 * Settings in which `key` may do more than `by`, the key that would create or change it. The scope `admin` stands for all scopes; an
 * admin key with fewer models, an expiry, limits, a hard budget or a lower priority passes these on.
 */
export function excessesOf(key: Grant, by: Grant): Excess[] {
  const found: Excess[] = [];
  const { scopes, models, expiresAt, maxPriority } = by;
  if (!scopes.includes('admin') && !key.scopes.every((scope) => hasScope(scopes, scope)))
    found.push({ field: 'scopes', bound: `has only the scopes ${scopes.join(', ')}` });
  if (models !== null && (key.models === null || !key.models.every((model) => models.includes(model))))
    found.push({ field: 'models', bound: `may use only ${models.join(', ') || 'no model'}` });
  if (expiresAt !== null && (key.expiresAt === null || key.expiresAt > expiresAt))
    found.push({ field: 'expires_at', bound: `expires at ${isoSeconds(expiresAt)}` });
  if (key.maxPriority > maxPriority)
    found.push({ field: 'priority', bound: `may ask for priority ${maxPriority} at most` });
  if (by.budget && by.budget.hard !== false && !isWithin(key.budget, by.budget))
    found.push({ field: 'budget', bound: `has a budget of ${formatDollars(BigInt(by.budget.amount))} USD` });
  for (const name of limitNames) {
    if (name === 'queued_tokens') continue;
    const bound = by.limits[limitFields[name]];
    const own = key.limits[limitFields[name]];
    if (bound !== undefined && (own === undefined || own > bound))
      found.push({ field: `limits.${name}`, bound: `has the limit ${bound}` });
  }
  for (const [model, bound] of Object.entries(by.limits.queuedTokens ?? {})) {
    const own = key.limits.queuedTokens?.[model];
    if (own === undefined || own > bound)
      found.push({ field: 'limits.queued_tokens', bound: `has the limit ${bound} for ${model}` });
  }
  return found;
}

/** True for a hard budget that ends no later than the other one. A budget in total is less than the same one each month. */
function isWithin(budget: Budget | null, bound: Budget): boolean {
  if (!budget || budget.hard === false || budget.amount > bound.amount) return false;
  return budget.period === bound.period || budget.period === 'total';
}

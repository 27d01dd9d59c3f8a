import type { Budget } from './budget.ts';
import { type CallerLimits, type LimitChanges, type Limits, priorities } from './limits.ts';
import type { ServiceTier } from './service-tier.ts';

export interface Org {
  id: string;
  name: string;
  createdAt: number;
  /** Limits that replace the defaults of the configuration. */
  limits: Limits;
  /** Share of the slots relative to other orgs: an org with weight 2 gets twice as much as one with weight 1. */
  weight: number;
  /** Epoch milliseconds; null for an org that works. Requests of a disabled org are refused, and its batches wait. */
  disabledAt: number | null;
}

/** Scopes with a part that only reads, `batches:read` and so on. */
const readableScopes = ['batches', 'files', 'admin'] as const;

export const scopes = [
  'inference',
  'batches',
  'batches:read',
  'files',
  'files:read',
  'usage',
  'admin',
  'admin:read',
] as const;
export type KeyScope = (typeof scopes)[number];

/** Scopes of a new key by default: all but `admin`. Each includes its `:read`. */
export const defaultScopes: readonly KeyScope[] = ['inference', 'batches', 'files', 'usage'];

/** The part of a scope that only reads; the scope itself if it has none. */
export function readScope(scope: KeyScope): KeyScope {
  const readable = readableScopes.find((each) => each === scope);
  return readable ? `${readable}:read` : scope;
}

/** True if the scopes include `scope`, or the one that `scope` is a part of. */
export function hasScope(owned: readonly KeyScope[], scope: KeyScope): boolean {
  return owned.some((each) => each === scope || readScope(each) === scope);
}

/** API key without its secret, which is never stored. Instants are epoch milliseconds. */
export interface ApiKey {
  id: string;
  orgId: string;
  /** First key of its family (core/key-family.ts); null for that key itself. */
  family: string | null;
  /** Key that replaced it by rotation; null for the newest key of a family. */
  replacedBy: string | null;
  name: string;
  /** First characters and last four, for display. */
  prefix: string;
  scopes: KeyScope[];
  /** Allowed models; null for all. */
  models: string[] | null;
  createdAt: number;
  expiresAt: number | null;
  revokedAt: number | null;
  lastUsedAt: number | null;
  /** Epoch milliseconds; null for a key that works. Unlike a revoked key, a disabled one can be enabled again. */
  disabledAt: number | null;
  limits: Limits;
  /** Highest priority that its batches may have. */
  maxPriority: number;
  /** Limit of the spending of its family, in addition to that of its org; null for none. All keys of a family have the same. */
  budget: Budget | null;
  /** Tier of its single requests that leave the choice to it; null for `default`. */
  serviceTier: ServiceTier | null;
}

export function isExpired({ expiresAt }: Pick<ApiKey, 'expiresAt'>, now: number): boolean {
  return expiresAt !== null && expiresAt <= now;
}

/** True for a key that is neither revoked nor disabled nor expired. */
export function isActive(key: Pick<ApiKey, 'revokedAt' | 'disabledAt' | 'expiresAt'>, now: number): boolean {
  return key.revokedAt === null && key.disabledAt === null && !isExpired(key, now);
}

/** Settings of a new org, and of a new key. */
export const orgDefaults = { limits: {}, weight: 1, disabledAt: null } as const;
export const keyDefaults = {
  limits: {},
  disabledAt: null,
  maxPriority: priorities.max,
  budget: null,
  serviceTier: null,
  family: null,
  replacedBy: null,
} as const;

/** Org of a key, as far as authentication needs it. */
export type KeyOrg = Pick<Org, 'limits' | 'weight' | 'disabledAt'>;

export const weights = { min: 1, max: 1_000 } as const;

export interface OrgChanges {
  name?: string;
  /** Null removes the budget. */
  budget?: Budget | null;
  limits?: LimitChanges;
  weight?: number;
  /** Disabling again keeps the first instant. */
  disabled?: boolean;
}

export interface KeyChanges {
  name?: string;
  scopes?: KeyScope[];
  /** Ids of allowed models; null for all. */
  models?: string[] | null;
  /** Null for a key that does not expire. */
  expiresAt?: number | null;
  limits?: LimitChanges;
  /** Null removes the budget. */
  budget?: Budget | null;
  maxPriority?: number;
  /** Null for none. */
  serviceTier?: ServiceTier | null;
  /** Disabling again keeps the first instant. */
  disabled?: boolean;
}

export type NewOrg = OrgChanges & { name: string };
export type NewKey = Omit<KeyChanges, 'disabled'> & { orgId: string };

/** Result of authentication, passed to every operation. */
export interface Caller {
  orgId: string;
  keyId: string;
  /** First key of the family (core/key-family.ts); null or absent for that key itself. */
  keyFamily?: string | null;
  keyName?: string;
  scopes: readonly KeyScope[];
  models: readonly string[] | null;
  /** None if absent. */
  limits?: CallerLimits;
  /** Weight of the org; 1 if absent. */
  weight?: number;
  /** Highest priority of new batches; any if absent. */
  maxPriority?: number;
  /** Tier of single requests that leave the choice to the key; `default` if absent. */
  serviceTier?: ServiceTier;
  /** True for an owner whose org is disabled: an operator acts for it, but it gets no new batches. */
  isOrgDisabled?: boolean;
}

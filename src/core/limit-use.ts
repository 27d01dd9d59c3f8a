import type { LimitName } from './limits.ts';

/** Limits of the configuration that are the same for all orgs. */
export const fixedLimitNames = ['response_bytes'] as const;
export type LimitUseName = LimitName | (typeof fixedLimitNames)[number];

/** A limit in force, and how much of it is used. Instants are epoch milliseconds. */
export interface LimitUse {
  name: LimitUseName;
  owner: 'org' | 'key';
  /** Model of `queued_tokens`, else null. */
  model: string | null;
  limit: number;
  /** May exceed the limit, after a request used more than it had reserved, or after the limit was lowered. */
  used: number;
  /** When one more fits; null if one fits now, and where time alone frees nothing. */
  availableAt: number | null;
  /** When the whole limit is free if nothing is added; null if it is free, and where time alone frees nothing. */
  resetsAt: number | null;
}

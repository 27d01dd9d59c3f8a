import type { ErrorCode, Scope } from './errors.ts';

/** Why nobody takes requests of a model, in a word that programs may rely on (`docs/engines/README.md`). */
export const waitingReasons = [
  'engine_away',
  'engine_failing',
  'key_refused',
  'model_missing',
  'overloaded',
] as const;
export type WaitingReason = (typeof waitingReasons)[number];

/** Why requests wait, as far as their owner is told. */
export interface WaitingCause {
  scope: Scope;
  code: ErrorCode;
  message: string;
  /** Epoch milliseconds. */
  since: number;
}

export function waitingReason({ scope, code }: Pick<WaitingCause, 'scope' | 'code'>): WaitingReason {
  if (scope === 'account') return 'key_refused';
  if (code === 'model_not_found') return 'model_missing';
  if (code === 'engine_overloaded') return 'overloaded';
  return code === 'upstream_error' || code === 'invalid_upstream_response' ? 'engine_failing' : 'engine_away';
}

import type { ErrorCode, BlameScope } from './errors.ts';

/** Why nothing of a batch is sent to its model, in a word that programs may rely on (`docs/batches.md`). */
export const waitingReasons = [
  'paused',
  'budget',
  'storage_unavailable',
  'queued',
  'crash_suspected',
  'engine_unavailable',
  'credentials_refused',
  'model_missing',
  'rate_limited',
  'hours',
] as const;
export type WaitingReason = (typeof waitingReasons)[number];

/** Why requests wait, as their owner is told. */
export interface Waiting {
  reason: WaitingReason;
  message: string;
  /** Epoch milliseconds. */
  since: number;
  /** Likewise, where that is known. */
  until?: number;
}

/** Why nobody takes requests of a model. */
export interface WaitingCause {
  scope: BlameScope;
  code: ErrorCode;
  message: string;
  /** The upstream's own message, scrubbed. */
  upstreamMessage?: string;
  /** Epoch milliseconds. */
  since: number;
}

export function toWaiting({ scope, code, message, upstreamMessage: said, since }: WaitingCause): Waiting {
  return { reason: toReason(scope, code), message: withUpstreamMessage(message, said), since };
}

/** A message with the upstream's own words behind it. */
export function withUpstreamMessage(message: string, said: string | undefined): string {
  return said ? `${message} It says: ${said}` : message;
}

function toReason(scope: BlameScope, code: ErrorCode): WaitingReason {
  if (scope === 'account') return 'credentials_refused';
  if (code === 'model_not_found') return 'model_missing';
  return code === 'engine_overloaded' ? 'rate_limited' : 'engine_unavailable';
}

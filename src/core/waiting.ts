import { words } from '../base/words.ts';
import type { ErrorCode, BlameScope } from './errors.ts';

/** Reasons why a batch waits, for programs (docs/batches.md). */
export const waitingReasons = [
  ...words('paused org_disabled budget storage_unavailable queued crash_suspected'),
  ...words('engine_unavailable credentials_refused model_missing rate_limited drained hours'),
];
export type WaitingReason = (typeof waitingReasons)[number];

/** Reason for waiting, as shown to the owner of the requests. */
export interface Waiting {
  reason: WaitingReason;
  message: string;
  /** Epoch milliseconds. */
  since: number;
  /** Epoch milliseconds, if known. */
  until?: number;
}

/** Cause why a model accepts no requests. */
export interface WaitingCause {
  scope: BlameScope;
  code: ErrorCode;
  message: string;
  /** Message of the upstream, scrubbed. */
  upstreamMessage?: string;
  /** True where an operator has drained every server of the model. */
  isDrained?: true;
  /** Epoch milliseconds. */
  since: number;
}

export function toWaiting(cause: WaitingCause): Waiting {
  const { message, upstreamMessage, since } = cause;
  return { reason: toReason(cause), message: withUpstreamMessage(message, upstreamMessage), since };
}

export function withUpstreamMessage(message: string, upstreamMessage: string | undefined): string {
  return upstreamMessage ? `${message} It says: ${upstreamMessage}` : message;
}

function toReason({ scope, code, isDrained }: WaitingCause): WaitingReason {
  if (isDrained) return 'drained';
  if (scope === 'account') return 'credentials_refused';
  if (code === 'model_not_found') return 'model_missing';
  return code === 'engine_overloaded' ? 'rate_limited' : 'engine_unavailable';
}

import { ambiguous, ApiError } from '../../../core/errors.ts';
import type { Timeouts } from './timeouts.ts';

/** True where the peer dropped the connection. */
export function isReset(error: Error): boolean {
  const code = codeOf(error);
  return code === 'ECONNRESET' || code === 'EPIPE' || code === 'UND_ERR_SOCKET';
}

/** Error for a failure below HTTP, without the address. @param sent the request may be the cause, so the attempt counts */
export function errorForNetwork(error: Error, sent: boolean, timeouts: Timeouts): ApiError {
  const code = codeOf(error);
  const cause = { cause: error };
  if (code === 'UND_ERR_DESTROYED' || code === 'UND_ERR_CLOSED')
    return new ApiError('shutting_down', 'The engine is being stopped.', cause);
  if (code === 'UND_ERR_HEADERS_TIMEOUT')
    return timedOut(`did not start to answer within ${seconds(timeouts.firstByteMs)}`, error);
  if (code === 'UND_ERR_BODY_TIMEOUT')
    return timedOut(`was silent for ${seconds(timeouts.idleMs)} in the middle of its answer`, error);
  if (notHttp.has(code) || error.name === 'HTTPParserError')
    return new ApiError('invalid_upstream_response', "The model's server did not answer with HTTP.", cause);
  if (!sent) return new ApiError('upstream_unreachable', "The model's server cannot be reached.", cause);
  const message = "The model's server closed the connection before its answer was complete.";
  return new ApiError('upstream_unreachable', message, { ...cause, blame: ambiguous });
}

const notHttp = new Set(['UND_ERR_RES_CONTENT_LENGTH_MISMATCH', 'UND_ERR_HEADERS_OVERFLOW']);

export function timedOut(what: string, cause?: unknown): ApiError {
  const message = `The model's server ${what}.`;
  return new ApiError('upstream_timeout', message, cause === undefined ? {} : { cause });
}

export function seconds(ms: number): string {
  return ms >= 1000 ? `${Math.round(ms / 1000)} s` : `${ms} ms`;
}

function codeOf(error: Error): string {
  const { code } = error as { code?: unknown };
  return typeof code === 'string' ? code : '';
}

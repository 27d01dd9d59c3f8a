import type { IncomingHttpHeaders } from 'node:http';
import type { Dispatcher, Pool } from 'undici';
import type { Clock, Timer } from '../../../base/clock.ts';
import { onAbort } from '../../../base/on-abort.ts';
import { ApiError } from '../../../core/errors.ts';
import { errorForNetwork, isReset, seconds, timedOut } from './network-errors.ts';
import type { Timeouts } from './timeouts.ts';

/** Where the answer goes. After `end` or `fail`, nothing more comes. */
export interface Sink {
  start(status: number, headers: IncomingHttpHeaders): void;
  /** Answers false to be sent no more until `resume`. */
  data(chunk: Buffer): boolean;
  end(): void;
  fail(error: unknown): void;
}

export type Exchange = ReturnType<typeof exchange>;

export interface ExchangeParts {
  pool: Pool;
  request: { method: 'GET' | 'POST'; path: string; body: Buffer | string | null; headers: string[] };
  timeouts: Timeouts;
  /** Calls it when `timeouts.totalMs` are over. */
  overdue: (fn: () => void) => Timer;
  clock: Clock;
  signal: AbortSignal;
}

/** How long a connection whose answer is complete may take to say so. */
const endGraceMs = 1000;

/** A server that closes a connection later than this was at work on the request: sent again, it would be paid twice. */
const staleWithinMs = 1000;

/**
 * One request and its answer. It is sent a second time in one case only: a kept-alive connection was closed by its peer
 * before a byte of the answer came and within a second, which is what a server does that had just decided the connection
 * was idle.
 */
export function exchange({ pool, request, timeouts, overdue, clock, signal }: ExchangeParts, sink: Sink) {
  let controller: Dispatcher.DispatchController | undefined;
  let settled = false;
  let sent = false;
  let sentAt = 0;
  let answered = false;
  let repeated = false;
  let ended: (() => void) | undefined;
  let hurrying: Timer | undefined;
  let unwatch: (() => void) | undefined;

  const timer = overdue(() =>
    cancel(timedOut(`did not finish its answer within ${seconds(timeouts.totalMs)}`)),
  );
  const aborted = () => cancel(signal.reason);

  function settle(): boolean {
    if (settled) return false;
    settled = true;
    timer.cancel();
    hurrying?.cancel();
    unwatch?.();
    return true;
  }

  /** Closes the connection and fails with `reason`. */
  function cancel(reason: unknown): void {
    if (!settle()) return;
    controller?.abort(reason instanceof Error ? reason : new Error('cancelled'));
    sink.fail(reason);
  }

  const handler: Dispatcher.DispatchHandler = {
    onRequestStart(started) {
      controller = started;
      sent = true;
      sentAt = clock.monotonic();
      // It may have waited for a connection while its caller left.
      if (settled) started.abort(new Error('cancelled'));
    },
    onResponseStarted() {
      answered = true;
    },
    onResponseStart(_, status, headers) {
      // Statuses below 200 only announce the real one.
      if (!settled && status >= 200) sink.start(status, headers);
    },
    onResponseData(flow, chunk) {
      if (!settled && !sink.data(chunk)) flow.pause();
    },
    onResponseEnd() {
      if (settle()) sink.end();
      else ended?.();
    },
    onResponseError(_, error) {
      if (settled) return ended?.();
      const isStale = sent && !answered && clock.monotonic() - sentAt <= staleWithinMs;
      if (isStale && !repeated && isReset(error) && servedBefore(error)) {
        repeated = true;
        sent = false;
        return send();
      }
      settle();
      sink.fail(errorForNetwork(error, sent, timeouts));
    },
  };

  function send(): void {
    const { firstByteMs: headersTimeout, idleMs: bodyTimeout } = timeouts;
    pool.dispatch({ ...request, headersTimeout, bodyTimeout }, handler);
  }

  if (signal.aborted) aborted();
  else {
    unwatch = onAbort(signal, aborted);
    send();
  }

  /** Nothing that still comes matters: the end is waited for a moment, so that the connection can be used again. */
  function finish(): void {
    if (!settle()) return;
    const closing = clock.after(endGraceMs, () => controller?.abort(new Error('no end came')));
    ended = () => closing.cancel();
    controller?.resume();
  }

  /** The answer is there, and only a word more may come: it fails unless that comes in a moment. */
  function hurry(): void {
    if (!settled) hurrying ??= clock.after(endGraceMs, () => cancel(timedOut('did not say that it is done')));
  }

  /** Lets data flow again after the sink refused more. */
  const resume = () => controller?.resume();

  return { cancel, finish, hurry, resume };
}

/** The number of bytes a socket had read is put on its errors by the connector and by undici. */
function servedBefore(error: Error): boolean {
  const { bytesRead, socket } = error as { bytesRead?: number; socket?: { bytesRead?: number } };
  return (bytesRead ?? socket?.bytesRead ?? 0) > 0;
}

export function tooLong(bytes: number): ApiError {
  const mebibytes = Math.round(bytes / 1024 / 1024);
  return new ApiError(
    'invalid_upstream_response',
    `The model's server answered with more than ${mebibytes} MiB.`,
  );
}

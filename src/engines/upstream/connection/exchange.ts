import type { IncomingHttpHeaders } from 'node:http';
import type { Dispatcher, Pool } from 'undici';
import type { Clock, Timer } from '../../../base/clock.ts';
import { onAbort } from '../../../base/on-abort.ts';
import type { ListEntry } from '../../../base/swap-remove-list.ts';
import { errorForNetwork, isReset, seconds, timedOut } from './network-errors.ts';
import type { Timeouts } from './timeouts.ts';

/** Receiver of an answer. Nothing follows `end` or `fail`. */
export interface Sink {
  start(status: number, headers: IncomingHttpHeaders): void;
  /** @returns false to pause the data until `resume` */
  data(chunk: Buffer): boolean;
  end(): void;
  fail(error: unknown): void;
}

/** Settings and callbacks that all calls to a server share. */
export interface ConnectionHooks {
  pool: Pool;
  /** Headers of every request: names and values in turn. */
  headers: string[];
  clock: Clock;
  /** Starts the timer of a call's total time. */
  startTimeout: (onTimeout: () => void) => Timer;
  /** Called at the headers of an answer. */
  onStart(call: Exchange, headers: IncomingHttpHeaders): void;
  /** Called at each chunk of an answer. */
  onProgress(): void;
  onFailure(call: Exchange): void;
}

export interface HttpRequest {
  method: 'GET' | 'POST';
  path: string;
  body: Buffer | string | null;
  /** Additional headers: names and values in turn. */
  headers?: readonly string[] | undefined;
  timeouts: Timeouts;
  signal: AbortSignal;
}

/** Time for a connection to end after a complete answer. */
const endGraceMs = 1000;

/** A connection closed later than this was in use: repeating the request would charge it twice. */
const staleWithinMs = 1000;

/**
 * One HTTP request and its answer. It is repeated in one case: the server closed a kept-alive connection within a second and
 * before the first byte of the answer, because it had just decided that the connection was idle.
 *
 * A class instead of closures: hundreds of calls are in flight, and each young garbage collection copies their objects.
 */
export class Exchange implements Dispatcher.DispatchHandler, ListEntry {
  index = 0;
  readonly #hooks: ConnectionHooks;
  readonly #request: HttpRequest;
  readonly #sink: Sink;
  #controller: Dispatcher.DispatchController | undefined;
  #settled = false;
  #sent = false;
  #sentAt = 0;
  #answered = false;
  #repeated = false;
  readonly #timeout: Timer;
  /** Runs until the complete answer has ended. */
  #endTimeout: Timer | undefined;
  #unsubscribe: (() => void) | undefined;

  constructor(hooks: ConnectionHooks, request: HttpRequest, sink: Sink) {
    this.#hooks = hooks;
    this.#request = request;
    this.#sink = sink;
    const { totalMs } = request.timeouts;
    this.#timeout = hooks.startTimeout(() =>
      this.cancel(timedOut(`did not complete its answer within ${seconds(totalMs)}`)),
    );
  }

  /** Sends the request; to be called once. */
  send(): void {
    const { signal } = this.#request;
    if (signal.aborted) return this.cancel(signal.reason);
    this.#unsubscribe = onAbort(signal, () => this.cancel(signal.reason));
    this.#dispatch();
  }

  #dispatch(): void {
    const { pool, headers } = this.#hooks;
    const { method, path, body, timeouts, headers: own } = this.#request;
    const { firstByteMs: headersTimeout, idleMs: bodyTimeout } = timeouts;
    const all = own ? [...headers, ...own] : headers;
    pool.dispatch({ method, path, body, headers: all, headersTimeout, bodyTimeout }, this);
  }

  #settle(): boolean {
    if (this.#settled) return false;
    this.#settled = true;
    this.#timeout.cancel();
    this.#endTimeout?.cancel();
    this.#unsubscribe?.();
    return true;
  }

  /** Closes the connection and fails with `reason`. */
  cancel(reason: unknown): void {
    if (!this.#settle()) return;
    this.#controller?.abort(reason instanceof Error ? reason : new Error('cancelled'));
    this.#fail(reason);
  }

  #fail(error: unknown): void {
    this.#hooks.onFailure(this);
    this.#sink.fail(error);
  }

  /** Ignores the rest of the answer, but waits briefly for its end, so that the connection can be reused. */
  finish(): void {
    if (!this.#settle()) return;
    const close = () => this.#controller?.abort(new Error('the answer did not end'));
    this.#endTimeout = this.#hooks.clock.after(endGraceMs, close);
    this.resume();
  }

  /** Fails the call unless the answer, complete except for its end marker, ends in a moment. */
  expectEnd(): void {
    if (this.#settled) return;
    const late = () => this.cancel(timedOut('did not end its complete answer'));
    this.#endTimeout ??= this.#hooks.clock.after(endGraceMs, late);
  }

  /** Resumes data that the sink paused. */
  resume(): void {
    this.#controller?.resume();
  }

  onRequestStart(controller: Dispatcher.DispatchController): void {
    this.#controller = controller;
    this.#sent = true;
    this.#sentAt = this.#hooks.clock.monotonic();
    // The caller may have left while the call waited for a connection.
    if (this.#settled) controller.abort(new Error('cancelled'));
  }

  onResponseStarted(): void {
    this.#answered = true;
  }

  onResponseStart(_: unknown, status: number, headers: IncomingHttpHeaders): void {
    // Statuses below 200 only announce the final one.
    if (this.#settled || status < 200) return;
    this.#hooks.onStart(this, headers);
    this.#sink.start(status, headers);
  }

  onResponseData(controller: Dispatcher.DispatchController, chunk: Buffer): void {
    if (this.#settled) return;
    this.#hooks.onProgress();
    if (!this.#sink.data(chunk)) controller.pause();
  }

  onResponseEnd(): void {
    if (this.#settle()) this.#sink.end();
    else this.#endTimeout?.cancel();
  }

  onResponseError(_: unknown, error: Error): void {
    if (this.#settled) return this.#endTimeout?.cancel();
    const isStale =
      this.#sent && !this.#answered && this.#hooks.clock.monotonic() - this.#sentAt <= staleWithinMs;
    if (isStale && !this.#repeated && isReset(error) && isReused(error)) {
      this.#repeated = true;
      this.#sent = false;
      return this.#dispatch();
    }
    this.#settle();
    this.#fail(errorForNetwork(error, this.#sent, this.#request.timeouts));
  }
}

/** True where the socket had read bytes before; the connector and undici put their number on its errors. */
function isReused(error: Error): boolean {
  const { bytesRead, socket } = error as { bytesRead?: number; socket?: { bytesRead?: number } };
  return (bytesRead ?? socket?.bytesRead ?? 0) > 0;
}

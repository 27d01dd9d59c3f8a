import type { IncomingHttpHeaders } from 'node:http';
import type { Dispatcher, Pool } from 'undici';
import type { Clock, Timer } from '../../../base/clock.ts';
import { onAbort } from '../../../base/on-abort.ts';
import type { ListEntry } from '../../../base/swap-remove-list.ts';
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

/** What all calls to a server share, and who knows of each. */
export interface ConnectionHooks {
  pool: Pool;
  /** Of every request: names and values in turn. */
  headers: string[];
  clock: Clock;
  /** Calls it when a call has taken as long as one may. */
  overdue: (fn: () => void) => Timer;
  /** The first of an answer is there. */
  onStart(call: Exchange, headers: IncomingHttpHeaders): void;
  /** More of it is. */
  onProgress(): void;
  onFailure(call: Exchange): void;
}

export interface HttpRequest {
  method: 'GET' | 'POST';
  path: string;
  body: Buffer | string | null;
  /** Beside those of every request: names and values in turn. */
  headers?: readonly string[] | undefined;
  timeouts: Timeouts;
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
 *
 * One object where it could be a dozen closures: hundreds of calls are in flight, and whatever each is made of is copied by every
 * collection of young garbage.
 */
export class Exchange implements Dispatcher.DispatchHandler, ListEntry {
  index = 0;
  readonly #door: ConnectionHooks;
  readonly #request: HttpRequest;
  readonly #sink: Sink;
  #controller: Dispatcher.DispatchController | undefined;
  #settled = false;
  #sent = false;
  #sentAt = 0;
  #answered = false;
  #repeated = false;
  /** For the whole of it. */
  readonly #timer: Timer;
  /** Until the answer has said that it is over. */
  #ending: Timer | undefined;
  #unwatch: (() => void) | undefined;

  constructor(door: ConnectionHooks, request: HttpRequest, sink: Sink) {
    this.#door = door;
    this.#request = request;
    this.#sink = sink;
    const within = request.timeouts.totalMs;
    this.#timer = door.overdue(() =>
      this.cancel(timedOut(`did not finish its answer within ${seconds(within)}`)),
    );
  }

  /** To be called once. */
  send(): void {
    const { signal } = this.#request;
    if (signal.aborted) return this.cancel(signal.reason);
    this.#unwatch = onAbort(signal, () => this.cancel(signal.reason));
    this.#dispatch();
  }

  #dispatch(): void {
    const { pool, headers } = this.#door;
    const { method, path, body, timeouts, headers: own } = this.#request;
    const { firstByteMs: headersTimeout, idleMs: bodyTimeout } = timeouts;
    const all = own ? [...headers, ...own] : headers;
    pool.dispatch({ method, path, body, headers: all, headersTimeout, bodyTimeout }, this);
  }

  #settle(): boolean {
    if (this.#settled) return false;
    this.#settled = true;
    this.#timer.cancel();
    this.#ending?.cancel();
    this.#unwatch?.();
    return true;
  }

  /** Closes the connection and fails with `reason`. */
  cancel(reason: unknown): void {
    if (!this.#settle()) return;
    this.#controller?.abort(reason instanceof Error ? reason : new Error('cancelled'));
    this.#fail(reason);
  }

  #fail(error: unknown): void {
    this.#door.onFailure(this);
    this.#sink.fail(error);
  }

  /** Nothing that still comes matters: the end is waited for a moment, so that the connection can be used again. */
  finish(): void {
    if (!this.#settle()) return;
    const close = () => this.#controller?.abort(new Error('no end came'));
    this.#ending = this.#door.clock.after(endGraceMs, close);
    this.resume();
  }

  /** The answer is there, and only a word more may come: it fails unless that comes in a moment. */
  expectEnd(): void {
    if (this.#settled) return;
    const late = () => this.cancel(timedOut('did not say that it is done'));
    this.#ending ??= this.#door.clock.after(endGraceMs, late);
  }

  /** Lets data flow again after the sink refused more. */
  resume(): void {
    this.#controller?.resume();
  }

  onRequestStart(controller: Dispatcher.DispatchController): void {
    this.#controller = controller;
    this.#sent = true;
    this.#sentAt = this.#door.clock.monotonic();
    // It may have waited for a connection while its caller left.
    if (this.#settled) controller.abort(new Error('cancelled'));
  }

  onResponseStarted(): void {
    this.#answered = true;
  }

  onResponseStart(_: unknown, status: number, headers: IncomingHttpHeaders): void {
    // Statuses below 200 only announce the real one.
    if (this.#settled || status < 200) return;
    this.#door.onStart(this, headers);
    this.#sink.start(status, headers);
  }

  onResponseData(controller: Dispatcher.DispatchController, chunk: Buffer): void {
    if (this.#settled) return;
    this.#door.onProgress();
    if (!this.#sink.data(chunk)) controller.pause();
  }

  onResponseEnd(): void {
    if (this.#settle()) this.#sink.end();
    else this.#ending?.cancel();
  }

  onResponseError(_: unknown, error: Error): void {
    if (this.#settled) return this.#ending?.cancel();
    const isStale =
      this.#sent && !this.#answered && this.#door.clock.monotonic() - this.#sentAt <= staleWithinMs;
    if (isStale && !this.#repeated && isReset(error) && servedBefore(error)) {
      this.#repeated = true;
      this.#sent = false;
      return this.#dispatch();
    }
    this.#settle();
    this.#fail(errorForNetwork(error, this.#sent, this.#request.timeouts));
  }
}

/** The number of bytes a socket had read is put on its errors by the connector and by undici. */
function servedBefore(error: Error): boolean {
  const { bytesRead, socket } = error as { bytesRead?: number; socket?: { bytesRead?: number } };
  return (bytesRead ?? socket?.bytesRead ?? 0) > 0;
}

import type { IncomingHttpHeaders } from 'node:http';
import type { Dispatcher } from 'undici';
import type { Clock, Timer } from '../../../base/clock.ts';
import { onAbort } from '../../../base/on-abort.ts';
import { ApiError } from '../../../core/errors.ts';
import type { Borrower, Connection, ConnectionPool } from './connection-pool.ts';
import type { Deadlines, Timed } from './deadlines.ts';
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

/** What all exchanges with one server share. */
export interface Line {
  pool: ConnectionPool;
  /** Those under way. */
  inFlight: Deadlines<Exchange>;
  clock: Clock;
  /** Another number after anything of any answer has come. */
  signs: number;
  onHeaders?: ((headers: IncomingHttpHeaders) => void) | undefined;
}

export interface Question {
  request: { method: 'GET' | 'POST'; path: string; body: string | null; headers: string[] };
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
 */
export class Exchange implements Dispatcher.DispatchHandler, Borrower, Timed {
  place = 0;
  readonly #line: Line;
  readonly #question: Question;
  readonly #sink: Sink;
  readonly #begunAt: number;
  #connection: Connection | undefined;
  #controller: Dispatcher.DispatchController | undefined;
  #isSettled = false;
  #isSent = false;
  #isAnswered = false;
  #isRepeated = false;
  #isPaused = false;
  #hasHeaders = false;
  /** When it was sent, or the last of its answer came; monotonic. */
  #lastAt = 0;
  #ended: (() => void) | undefined;
  #hurrying: Timer | undefined;
  #unwatch: (() => void) | undefined;

  /** Call `begin` then. */
  constructor(line: Line, question: Question, sink: Sink) {
    this.#line = line;
    this.#question = question;
    this.#sink = sink;
    this.#begunAt = line.clock.monotonic();
  }

  begin(): void {
    const { signal } = this.#question;
    this.#line.inFlight.add(this);
    if (signal.aborted) return this.cancel(signal.reason);
    this.#unwatch = onAbort(signal, () => this.cancel(signal.reason));
    this.#line.pool.lend(this);
  }

  /** Whether nothing of the answer has come. */
  get isWaiting(): boolean {
    return !this.#hasHeaders;
  }

  get dueAt(): number {
    const { totalMs, firstByteMs, idleMs } = this.#question.timeouts;
    const whole = this.#begunAt + totalMs;
    if (!this.#isSent || this.#isPaused) return whole;
    const patience = this.#hasHeaders ? idleMs : firstByteMs;
    return patience > 0 ? Math.min(whole, this.#lastAt + patience) : whole;
  }

  expire(): void {
    const { totalMs, firstByteMs, idleMs } = this.#question.timeouts;
    if (this.#line.clock.monotonic() >= this.#begunAt + totalMs)
      return this.cancel(timedOut(`did not finish its answer within ${seconds(totalMs)}`));
    const what = this.#hasHeaders
      ? `fell silent for ${seconds(idleMs)} in the middle of its answer`
      : `did not begin to answer within ${seconds(firstByteMs)}`;
    this.cancel(timedOut(what));
  }

  /** Closes the connection and fails with `reason`. */
  cancel(reason: unknown): void {
    if (!this.#settle()) return;
    this.#controller?.abort(reason instanceof Error ? reason : new Error('cancelled'));
    this.#sink.fail(reason);
  }

  /** Lets data flow again after the sink refused more. */
  resume(): void {
    this.#isPaused = false;
    this.#lastAt = this.#line.clock.monotonic();
    this.#controller?.resume();
  }

  /** Nothing that still comes matters: the end is waited for a moment, so that the connection can be used again. */
  finish(): void {
    if (!this.#settle()) return;
    const closing = this.#line.clock.after(endGraceMs, () =>
      this.#controller?.abort(new Error('no end came')),
    );
    this.#ended = () => closing.cancel();
    this.#controller?.resume();
  }

  /** The answer is there, and only a word more may come: it fails unless that comes in a moment. */
  hurry(): void {
    if (this.#isSettled) return;
    this.#hurrying ??= this.#line.clock.after(endGraceMs, () =>
      this.cancel(timedOut('did not say that it is done')),
    );
  }

  use(connection: Connection): void {
    this.#connection = connection;
    // It may have waited for a connection while its caller left.
    if (this.#isSettled) this.#leave();
    else connection.client.dispatch(this.#question.request, this);
  }

  onRequestStart(started: Dispatcher.DispatchController): void {
    this.#controller = started;
    this.#isSent = true;
    this.#lastAt = this.#line.clock.monotonic();
    if (this.#isSettled) started.abort(new Error('cancelled'));
  }

  onResponseStarted(): void {
    this.#isAnswered = true;
  }

  onResponseStart(_: unknown, status: number, headers: IncomingHttpHeaders): void {
    // Statuses below 200 only announce the real one.
    if (this.#isSettled || status < 200) return;
    this.#came();
    this.#hasHeaders = true;
    this.#line.onHeaders?.(headers);
    this.#sink.start(status, headers);
  }

  onResponseData(flow: Dispatcher.DispatchController, chunk: Buffer): void {
    if (this.#isSettled) return;
    this.#came();
    if (this.#sink.data(chunk)) return;
    this.#isPaused = true;
    flow.pause();
  }

  onResponseEnd(): void {
    this.#leave();
    if (this.#settle()) this.#sink.end();
    else this.#ended?.();
  }

  onResponseError(_: unknown, error: Error): void {
    this.#leave();
    if (this.#isSettled) return this.#ended?.();
    const { clock, pool } = this.#line;
    const isStale = this.#isSent && !this.#isAnswered && clock.monotonic() - this.#lastAt <= staleWithinMs;
    if (isStale && !this.#isRepeated && isReset(error) && servedBefore(error)) {
      this.#isRepeated = true;
      this.#isSent = false;
      return pool.lend(this);
    }
    this.#settle();
    this.#sink.fail(errorForNetwork(error, this.#isSent));
  }

  #came(): void {
    this.#line.signs++;
    this.#lastAt = this.#line.clock.monotonic();
  }

  #settle(): boolean {
    if (this.#isSettled) return false;
    this.#isSettled = true;
    this.#line.inFlight.remove(this);
    this.#hurrying?.cancel();
    this.#unwatch?.();
    return true;
  }

  #leave(): void {
    const connection = this.#connection;
    this.#connection = undefined;
    if (connection) this.#line.pool.takeBack(connection);
  }
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

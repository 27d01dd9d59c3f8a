import type { IncomingHttpHeaders } from 'node:http';
import type { Client } from 'undici';
import type { Clock } from '../../../base/clock.ts';
import type { ApiError } from '../../../core/errors.ts';
import { ConnectionPool } from './connection-pool.ts';
import { Deadlines } from './deadlines.ts';
import { Exchange, type Line, type Sink, tooLong } from './exchange.ts';
import type { Timeouts } from './timeouts.ts';
import { loadUndici } from './undici.ts';
import { createUnread } from '../answer/unread.ts';

export interface Reply<Body> {
  status: number;
  headers: IncomingHttpHeaders;
  body: Body;
}

export interface StreamedReply extends Reply<AsyncGenerator<Buffer>> {
  /** Everything that matters has come; or will have in a moment, and the body fails if it has not ended then. */
  finish: () => void;
  hurry: () => void;
}

/** Connections to one upstream. Rejects with `ApiError`s, or with the signal's reason. */
export interface Transport {
  get(path: string, signal: AbortSignal): Promise<Reply<Buffer>>;
  post(path: string, body: string, signal: AbortSignal): Promise<Reply<Buffer>>;
  /** Resolves at the headers. Leaving the loop over the body early closes the connection, unless `finish` was called. */
  postStreaming(path: string, body: string, signal: AbortSignal): Promise<StreamedReply>;
  /** Calls of which nothing has come. */
  readonly waiting: number;
  /** Another number after anything of any answer has come. */
  readonly signs: number;
  /** Fails the calls of which nothing has come. */
  giveUp(reason: ApiError): void;
  /** Fails all calls in flight with `shutting_down`. */
  close(): Promise<void>;
}

export interface TransportOptions {
  origin: string;
  /** Who signs its certificate, as PEM. */
  ca?: string | undefined;
  headers: Record<string, string>;
  /** How many calls may be in flight, more wait for one to end; null where somebody else sees to that. */
  connections: number | null;
  timeouts: Timeouts;
  /** Bytes of the longest answer that is read; 64 MiB if absent. */
  longest?: number;
  clock: Clock;
  /** Whether a stream begins when it is asked for, so that a silence before it is one like any other. */
  beginsAtOnce?: () => boolean;
  /** Called with the headers of each answer. */
  onHeaders?: (headers: IncomingHttpHeaders) => void;
}

/** Under the 5 s that common servers keep an idle connection, so that they are rarely closed just as we send. */
const keepAliveMs = 4000;

const longestBody = 64 * 1024 * 1024;

export function createTransport({
  origin,
  ca,
  headers,
  connections,
  timeouts,
  longest = longestBody,
  clock,
  beginsAtOnce,
  onHeaders,
}: TransportOptions): Transport {
  const line: Line = {
    pool: new ConnectionPool(opener({ origin, ca, timeouts }), connections ?? Infinity),
    inFlight: new Deadlines(clock, shortestOf(timeouts)),
    clock,
    signs: 0,
    onHeaders,
  };
  const flatHeaders = Object.entries({ 'content-type': 'application/json', ...headers }).flat();
  const atOnce = { ...timeouts, firstByteMs: Math.min(timeouts.firstByteMs, timeouts.idleMs) };

  const exchangeOf = (
    path: string,
    body: string | null,
    signal: AbortSignal,
    sink: Sink,
    within = timeouts,
  ): Exchange => {
    const method = body === null ? 'GET' : 'POST';
    const request = { method, path, body, headers: flatHeaders } as const;
    return new Exchange(line, { request, timeouts: within, signal }, sink);
  };

  function whole(path: string, body: string | null, signal: AbortSignal): Promise<Reply<Buffer>> {
    return new Promise((resolve, reject) => {
      const sink = new WholeSink(longest, resolve, reject);
      sink.call = exchangeOf(path, body, signal, sink);
      sink.call.begin();
    });
  }

  return {
    get: (path, signal) => whole(path, null, signal),
    post: whole,

    postStreaming(path, body, signal) {
      return new Promise((resolve, reject) => {
        const unread = createUnread();
        let size = 0;
        const sink: Sink = {
          start(status, replyHeaders) {
            const leave = () => call.cancel(new Error('the reader left'));
            resolve({
              status,
              headers: replyHeaders,
              body: unread.read(() => call.resume(), leave),
              finish: () => call.finish(),
              hurry: () => call.hurry(),
            });
          },
          data(chunk) {
            size += chunk.length;
            if (size <= longest) return unread.push(chunk);
            call.cancel(tooLong(longest));
            return true;
          },
          end: unread.end,
          fail(error) {
            unread.fail(error);
            reject(error);
          },
        };
        const call = exchangeOf(path, body, signal, sink, beginsAtOnce?.() ? atOnce : timeouts);
        call.begin();
      });
    },

    get waiting() {
      return line.inFlight.all.filter(({ isWaiting }) => isWaiting).length;
    },
    get signs() {
      return line.signs;
    },
    giveUp(reason) {
      for (const call of line.inFlight.all.slice()) if (call.isWaiting) call.cancel(reason);
    },

    close: () => line.pool.close(),
  };
}

/** Gathers a whole answer. */
class WholeSink implements Sink {
  call: Exchange | undefined;
  #status = 0;
  #headers: IncomingHttpHeaders = {};
  readonly #parts: Buffer[] = [];
  #size = 0;
  readonly #longest: number;
  readonly #resolve: (reply: Reply<Buffer>) => void;
  readonly fail: (error: unknown) => void;

  /** @param longest answer that is read, in bytes */
  constructor(longest: number, resolve: (reply: Reply<Buffer>) => void, reject: (error: unknown) => void) {
    this.#longest = longest;
    this.#resolve = resolve;
    this.fail = reject;
  }

  start(status: number, headers: IncomingHttpHeaders): void {
    this.#status = status;
    this.#headers = headers;
  }

  data(chunk: Buffer): boolean {
    this.#size += chunk.length;
    if (this.#size > this.#longest) this.call?.cancel(tooLong(this.#longest));
    else this.#parts.push(chunk);
    return true;
  }

  end(): void {
    const [only] = this.#parts;
    const body = only && this.#parts.length === 1 ? only : Buffer.concat(this.#parts, this.#size);
    this.#resolve({ status: this.#status, headers: this.#headers, body });
  }
}

function shortestOf({ firstByteMs, idleMs, totalMs }: Timeouts): number {
  return Math.min(...[firstByteMs, idleMs, totalMs].filter((ms) => ms > 0));
}

function opener({
  origin,
  ca,
  timeouts,
}: Pick<TransportOptions, 'origin' | 'ca' | 'timeouts'>): () => Client {
  const { Client, buildConnector } = loadUndici();
  const connect = buildConnector({ timeout: timeouts.connectMs, allowH2: false, ...(ca && { ca }) });
  return () =>
    new Client(origin, {
      pipelining: 1,
      keepAliveTimeout: keepAliveMs,
      keepAliveMaxTimeout: 60_000,
      allowH2: false,
      // `Deadlines` watches over all calls at once.
      headersTimeout: 0,
      bodyTimeout: 0,
      connect(options, callback) {
        connect(options, (...result) => {
          const [, socket] = result;
          // So that a connection that had served before can be told from a new one (`exchange.ts`).
          socket?.prependListener('error', (error) => Object.assign(error, { bytesRead: socket.bytesRead }));
          callback(...result);
        });
      },
    });
}

import type { IncomingHttpHeaders } from 'node:http';
import type { Pool } from 'undici';
import type { Clock } from '../../../base/clock.ts';
import { oneTimer } from '../../../base/one-timer.ts';
import { type Listed, putIn, takeOut } from '../../../base/unordered.ts';
import type { ApiError } from '../../../core/errors.ts';
import { exchange, type Exchange, type Sink, tooLong } from './exchange.ts';
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

/** A call of which nothing has come. */
interface Waiting extends Listed {
  call: Exchange | null;
}

export type Transport = ReturnType<typeof createTransport>;

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

/** Connections to one upstream. Rejects with `ApiError`s, or with the signal's reason. */
export function createTransport(options: TransportOptions) {
  const { headers, timeouts, longest = longestBody, clock, beginsAtOnce, onHeaders } = options;
  const pool = createPool(options);
  const overdue = oneTimer(clock, timeouts.totalMs);
  const waiting: Waiting[] = [];
  let signs = 0;
  const flatHeaders = Object.entries({ 'content-type': 'application/json', ...headers }).flat();

  const atOnce = { ...timeouts, firstByteMs: Math.min(timeouts.firstByteMs, timeouts.idleMs) };

  function send(
    path: string,
    body: Buffer | string | null,
    signal: AbortSignal,
    sink: Sink,
    within = timeouts,
  ): Exchange {
    const request = { method: body === null ? 'GET' : 'POST', path, body, headers: flatHeaders } as const;
    const own: Waiting = { call: null, place: 0 };
    putIn(waiting, own);
    const forget = () => takeOut(waiting, own);
    const call = exchange(
      { pool, request, timeouts: within, overdue, clock, signal },
      {
        start(status, replyHeaders) {
          signs++;
          forget();
          onHeaders?.(replyHeaders);
          sink.start(status, replyHeaders);
        },
        data(chunk) {
          signs++;
          return sink.data(chunk);
        },
        end: () => sink.end(),
        fail(error) {
          forget();
          sink.fail(error);
        },
      },
    );
    own.call = call;
    return call;
  }

  function whole(path: string, body: Buffer | string | null, signal: AbortSignal): Promise<Reply<Buffer>> {
    return new Promise((resolve, reject) => {
      const reply: Reply<Buffer[]> = { status: 0, headers: {}, body: [] };
      let size = 0;
      const call = send(path, body, signal, {
        start(status, replyHeaders) {
          reply.status = status;
          reply.headers = replyHeaders;
        },
        data(chunk) {
          size += chunk.length;
          if (size > longest) call.cancel(tooLong(longest));
          else reply.body.push(chunk);
          return true;
        },
        end() {
          const [only] = reply.body;
          const all = only && reply.body.length === 1 ? only : Buffer.concat(reply.body, size);
          resolve({ ...reply, body: all });
        },
        fail: reject,
      });
    });
  }

  return {
    get: (path: string, signal: AbortSignal) => whole(path, null, signal),
    post: (path: string, body: Buffer | string, signal: AbortSignal) => whole(path, body, signal),

    /** Resolves at the headers. Leaving the loop over the body early closes the connection, unless `finish` was called. */
    postStreaming(path: string, body: Buffer, signal: AbortSignal): Promise<StreamedReply> {
      return new Promise((resolve, reject) => {
        const unread = createUnread();
        let size = 0;
        const sink: Sink = {
          start(status, replyHeaders) {
            const leave = () => call.cancel(new Error('the reader left'));
            resolve({
              status,
              headers: replyHeaders,
              body: unread.read(call.resume, leave),
              finish: call.finish,
              hurry: call.hurry,
            });
          },
          data(chunk) {
            size += chunk.length;
            if (size <= longest) return unread.push(chunk);
            call.cancel(tooLong(longest));
            return true;
          },
          end: () => unread.end(),
          fail(error) {
            unread.fail(error);
            reject(error);
          },
        };
        const call = send(path, body, signal, sink, beginsAtOnce?.() ? atOnce : timeouts);
      });
    },

    /** Calls of which nothing has come. */
    get waiting() {
      return waiting.length;
    },
    /** Another number after anything of any answer has come. */
    get signs() {
      return signs;
    },
    /** Fails the calls of which nothing has come. */
    giveUp(reason: ApiError) {
      for (const { call } of waiting.slice()) call?.cancel(reason);
    },

    /** Fails all calls in flight with `shutting_down`. */
    close: () => pool.destroy(),
  };
}

function createPool({ origin, ca, connections, timeouts }: TransportOptions): Pool {
  const { Pool, buildConnector } = loadUndici();
  const connect = buildConnector({ timeout: timeouts.connectMs, allowH2: false, ...(ca && { ca }) });
  return new Pool(origin, {
    connections,
    pipelining: 1,
    keepAliveTimeout: keepAliveMs,
    keepAliveMaxTimeout: 60_000,
    allowH2: false,
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

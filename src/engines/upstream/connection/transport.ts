import type { IncomingHttpHeaders } from 'node:http';
import type { Pool } from 'undici';
import type { Clock } from '../../../base/clock.ts';
import { createSharedTimer } from '../../../base/shared-timer.ts';
import { createSteadyLookup } from '../../../base/steady-lookup.ts';
import { addEntry, removeEntry } from '../../../base/swap-remove-list.ts';
import type { ApiError } from '../../../core/errors.ts';
import { type HttpRequest, type ConnectionHooks, Exchange } from './exchange.ts';
import { type Reply, ReplyInParts, type StreamedReply, WholeReply } from './replies.ts';
import type { Timeouts } from './timeouts.ts';
import { loadUndici } from './undici.ts';

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
  /** Of which nothing has come. */
  const waiting: Exchange[] = [];
  let signs = 0;
  const door: ConnectionHooks = {
    pool,
    headers: Object.entries({ 'content-type': 'application/json', ...headers }).flat(),
    clock,
    overdue: createSharedTimer(clock, timeouts.totalMs),
    onStart(call, replyHeaders) {
      signs++;
      removeEntry(waiting, call);
      onHeaders?.(replyHeaders);
    },
    onProgress: () => signs++,
    onFailure: (call) => void removeEntry(waiting, call),
  };

  const atOnce = { ...timeouts, firstByteMs: Math.min(timeouts.firstByteMs, timeouts.idleMs) };

  function send<T extends WholeReply | ReplyInParts>(request: HttpRequest, sink: T): T['reply'] {
    const call = new Exchange(door, request, sink);
    sink.call = call;
    addEntry(waiting, call);
    call.send();
    return sink.reply;
  }

  const whole = (
    method: HttpRequest['method'],
    path: string,
    body: HttpRequest['body'],
    signal: AbortSignal,
    own?: HttpRequest['headers'],
  ): Promise<Reply<Buffer>> =>
    send({ method, path, body, headers: own, timeouts, signal }, new WholeReply(longest));

  return {
    get: (path: string, signal: AbortSignal) => whole('GET', path, null, signal),
    post: (path: string, body: Buffer | string, signal: AbortSignal, own?: HttpRequest['headers']) =>
      whole('POST', path, body, signal, own),

    /** Resolves at the headers. Leaving the loop over the body early closes the connection, unless `finish` was called. */
    postStreaming(
      path: string,
      body: Buffer,
      signal: AbortSignal,
      own?: HttpRequest['headers'],
    ): Promise<StreamedReply> {
      const within = beginsAtOnce?.() ? atOnce : timeouts;
      const request: HttpRequest = { method: 'POST', path, body, headers: own, timeouts: within, signal };
      return send(request, new ReplyInParts(longest));
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
      for (const call of waiting.slice()) call.cancel(reason);
    },

    /** Fails all calls in flight with `shutting_down`. */
    close: () => pool.destroy(),
  };
}

function createPool({ origin, ca, connections, timeouts, clock }: TransportOptions): Pool {
  const { Pool, buildConnector } = loadUndici();
  const connect = buildConnector({
    timeout: timeouts.connectMs,
    allowH2: false,
    lookup: createSteadyLookup(clock),
    ...(ca && { ca }),
  });
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

import type { IncomingHttpHeaders } from 'node:http';
import type { Pool } from 'undici';
import type { Clock } from '../../../base/clock.ts';
import { createSharedTimer } from '../../../base/shared-timer.ts';
import { createSteadyLookup } from '../../../base/steady-lookup.ts';
import { addEntry, removeEntry } from '../../../base/swap-remove-list.ts';
import type { ApiError } from '../../../core/errors.ts';
import { type ConnectionHooks, Exchange, type HttpRequest } from './exchange.ts';
import { type Reply, ReplyInParts, WholeReply } from './replies.ts';
import type { Timeouts } from './timeouts.ts';
import { loadUndici } from './undici.ts';

export type Transport = ReturnType<typeof createTransport>;

export interface TransportOptions {
  origin: string;
  /** Certificate authority of the server, as PEM. */
  ca?: string | undefined;
  headers: Record<string, string>;
  /** Limit of connections, beyond which calls wait; null where the caller limits them. */
  connections: number | null;
  timeouts: Timeouts;
  /** Longest answer; 64 MiB if absent. */
  maxBytes?: number;
  clock: Clock;
  /** True where streams start at once, so that `idleMs` also limits the silence before the first byte. */
  startsAtOnce?: () => boolean;
  /** Called with the headers of each answer. */
  onHeaders?: (headers: IncomingHttpHeaders) => void;
}

/** Below the 5 s after which common servers close idle connections, which would race with our requests. */
const keepAliveMs = 4000;

const defaultMaxBytes = 64 * 1024 * 1024;

/** Connections to one upstream. Calls reject with `ApiError`s or with the signal's reason. */
export function createTransport(options: TransportOptions) {
  const { headers, timeouts, maxBytes = defaultMaxBytes, clock, startsAtOnce, onHeaders } = options;
  const pool = createPool(options);
  const waiting: Exchange[] = [];
  let signs = 0;
  const hooks: ConnectionHooks = {
    pool,
    headers: Object.entries({ 'content-type': 'application/json', ...headers }).flat(),
    clock,
    startTimeout: createSharedTimer(clock, timeouts.totalMs),
    onStart(call, replyHeaders) {
      signs++;
      removeEntry(waiting, call);
      onHeaders?.(replyHeaders);
    },
    onProgress: () => signs++,
    onFailure: (call) => void removeEntry(waiting, call),
  };

  const promptTimeouts = { ...timeouts, firstByteMs: Math.min(timeouts.firstByteMs, timeouts.idleMs) };

  function send<T extends WholeReply | ReplyInParts>(request: HttpRequest, sink: T): T['reply'] {
    const call = new Exchange(hooks, request, sink);
    sink.call = call;
    addEntry(waiting, call);
    call.send();
    return sink.reply;
  }

  const sendWhole = (request: Omit<HttpRequest, 'timeouts'>): Promise<Reply<Buffer>> =>
    send({ ...request, timeouts }, new WholeReply(maxBytes));

  return {
    get: (path: string, signal: AbortSignal) => sendWhole({ method: 'GET', path, body: null, signal }),
    post: (path: string, body: Buffer | string, signal: AbortSignal, own?: HttpRequest['headers']) =>
      sendWhole({ method: 'POST', path, body, headers: own, signal }),

    /** Resolves at the headers. Leaving the loop over the body closes the connection, except after `finish`. */
    postStreaming(path: string, body: Buffer, signal: AbortSignal, own?: HttpRequest['headers']) {
      const within = startsAtOnce?.() ? promptTimeouts : timeouts;
      const request: HttpRequest = { method: 'POST', path, body, headers: own, timeouts: within, signal };
      return send(request, new ReplyInParts(maxBytes));
    },

    /** Number of calls without any byte of an answer. */
    get waiting() {
      return waiting.length;
    },
    /** Counter that changes whenever part of an answer arrives. */
    get signs() {
      return signs;
    },
    /** Fails the calls without any byte of an answer. */
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
        // Marks errors of connections that had served before (`exchange.ts`).
        socket?.prependListener('error', (error) => Object.assign(error, { bytesRead: socket.bytesRead }));
        callback(...result);
      });
    },
  });
}

import type { IncomingMessage } from 'node:http';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import type { Clock } from '../../base/clock.ts';
import type { Ids } from '../../base/ids.ts';
import { type ListEntry, addEntry, removeEntry } from '../../base/swap-remove-list.ts';
import {
  type AnsweredCall,
  type CallTrace,
  type CallTracer,
  toCallFields,
  roundToTenths,
} from '../../core/call-trace.ts';
import { type ApiError, shuttingDown } from '../../core/errors.ts';
import type { Caller } from '../../core/org.ts';
import { printable } from '../request/headers.ts';
import { probes } from '../probes.ts';
import { sendError } from '../answer/send.ts';
import type { ErrorFormat } from '../../wire/errors/error-body.ts';
import type { RequestLog } from './request-log.ts';

/** Request from its first header to the last byte of its answer. */
export interface TrackedRequest {
  readonly requestId: string;
  readonly startedAt: number;
  /** Aborts when the client disconnects, or with `shutting_down` when the drain time ends. */
  readonly signal: AbortSignal;
  caller: Caller | undefined;
  /** Path of its route at `/v1`, once the route is known. */
  endpoint: string | undefined;
  /** Format of its errors, once the route is known. */
  errors: ErrorFormat | undefined;
  /** Details of its engine call. */
  readonly trace: CallTrace;
  /** Headers about rate limits, which are written with the answer: by way of Fastify, they would cost twice as much. */
  rateHeaders: Readonly<Record<string, string>> | undefined;
  /** Called when the request has ended. */
  release: () => void;
  /** Work on the answer, which outlasts the request when the client disconnects. */
  work: Promise<void>;
  /** Records the error of the answer for the log. */
  onFailure: (error: ApiError) => void;
}

interface InFlightRequest extends TrackedRequest, ListEntry {
  readonly request: FastifyRequest;
  readonly reply: FastifyReply;
  readonly controller: AbortController;
  /** Monotonic start. */
  readonly began: number;
  failure: ApiError | undefined;
}

export type Traffic = ReturnType<typeof trackRequests>;

/** Property of the raw request. Cheaper than a WeakMap, which the garbage collector scans repeatedly. */
const key = Symbol('tracked');
type Carrier = IncomingMessage & { [key]?: TrackedRequest };

const noWork = Promise.resolve();

interface TrafficDeps {
  clock: Clock;
  ids: Ids;
  /** Called when a request has ended. */
  onAnswered?: ((call: AnsweredCall) => void) | undefined;
  tracer?: Pick<CallTracer, 'beginRequest'> | undefined;
  requestLog: Pick<RequestLog, 'write'>;
  /** Id of this process, which answers name. */
  instance: string;
}

/**
 * Gives each request an id and an abort signal, tracks those in flight, and logs one line for each. Unknown paths, headers
 * and bodies are never logged.
 */
export function trackRequests(app: FastifyInstance, deps: TrafficDeps) {
  const { clock, ids, onAnswered, tracer, requestLog, instance } = deps;
  const inFlight: InFlightRequest[] = [];
  let leaving = false;
  let draining = false;
  const whenIdle: (() => void)[] = [];

  app.addHook('onRequest', (request, reply, done) => {
    const tracked = begin(request, reply);
    if (leaving) reply.header('connection', 'close');
    if (!draining || probes.has(request.url.split('?', 1)[0] ?? '')) return done();
    sendError(reply, tracked, shuttingDown());
  });

  function begin(request: FastifyRequest, reply: FastifyReply): TrackedRequest {
    const requestId = ids.next('req_');
    const controller = new AbortController();
    const tracked: InFlightRequest = {
      requestId,
      startedAt: clock.now(),
      signal: controller.signal,
      caller: undefined,
      endpoint: undefined,
      errors: undefined,
      trace: tracer ? { span: tracer.beginRequest(printable(request.headers['traceparent'])) } : {},
      rateHeaders: undefined,
      release() {},
      work: noWork,
      onFailure: (error) => void (tracked.failure = error),
      request,
      reply,
      controller,
      began: clock.monotonic(),
      failure: undefined,
      index: 0,
    };
    (request.raw as Carrier)[key] = tracked;
    addEntry(inFlight, tracked);
    reply.header('x-request-id', requestId).header('request-id', requestId);
    reply.header('x-offpeak-instance', instance);
    const version = printable(request.headers['anthropic-version']);
    if (version !== undefined) reply.header('anthropic-version', version);
    reply.raw.once('close', () => end(tracked));
    return tracked;
  }

  function end(tracked: InFlightRequest): void {
    removeEntry(inFlight, tracked);
    tracked.release();
    const clientLeft = !tracked.reply.raw.writableFinished;
    if (clientLeft) tracked.controller.abort(new Error('the client went away'));
    const ms = roundToTenths(clock.monotonic() - tracked.began);
    // The usage of an abandoned answer is known only after its engine has stopped.
    if (clientLeft && tracked.trace.serversAsked !== undefined)
      void tracked.work.then(() => report(tracked, clientLeft, ms));
    else report(tracked, clientLeft, ms);
    if (inFlight.length === 0) for (const resolve of whenIdle.splice(0)) resolve();
  }

  function report(tracked: InFlightRequest, clientLeft: boolean, ms: number): void {
    const { request, reply, caller, failure, trace } = tracked;
    const { method, routeOptions } = request;
    // An unknown path is not logged: the client chose its text.
    const route = routeOptions.url ?? 'unknown';
    const status = reply.raw.statusCode;
    const { requestId, startedAt, endpoint = route } = tracked;
    const answered = { requestId, startedAt, caller, code: failure?.code, ms, trace };
    onAnswered?.({ ...answered, method, route, endpoint, status: clientLeft ? 499 : status });
    const fields = {
      request_id: requestId,
      client_request_id: printable(request.headers['x-client-request-id']),
      method,
      route,
      status,
      ms,
      ...((trace.serversAsked !== undefined || trace.server !== undefined) && toCallFields(trace)),
      ...(clientLeft && { gone: true }),
    };
    requestLog.write({ what: 'request', request, status, caller, failure, fields });
  }

  return {
    /** Registers a request that the HTTP library rejected before any hook. */
    begin,
    of(request: Pick<FastifyRequest, 'raw'>): TrackedRequest {
      const tracked = (request.raw as Carrier)[key];
      if (!tracked) throw new Error('the request passed no onRequest hook');
      return tracked;
    },
    /** Closes each connection with its answer from now on. */
    leave: () => void (leaving = true),
    get leaving() {
      return leaving;
    },
    /** Rejects new requests from now on, except for health probes. */
    drain: () => void (leaving = draining = true),
    get draining() {
      return draining;
    },
    /** Unfinished answers. */
    inFlight: () => inFlight.map(({ reply }) => reply.raw),
    /** Resolves when no request is in flight. */
    idle: (): Promise<void> =>
      inFlight.length === 0 ? Promise.resolve() : new Promise((resolve) => whenIdle.push(resolve)),
    abort() {
      const reason = shuttingDown();
      for (const tracked of inFlight.slice()) {
        const { controller, request, reply } = tracked;
        controller.abort(reason);
        // A handler that waits for the rest of the body does not see the signal.
        if (request.raw.complete || reply.sent) continue;
        reply.header('connection', 'close');
        sendError(reply, tracked, reason);
      }
    },
  };
}

import multipart from '@fastify/multipart';
import fastify from 'fastify';
import { type Clock, sleep } from '../base/clock.ts';
import type { Ids } from '../base/ids.ts';
import type { Service } from '../base/service.ts';
import type { AnsweredCall, CallTracer } from '../core/call-trace.ts';
import { type Role, servesRequests } from '../core/role.ts';
import { createBodyBudget } from './request/body-budget.ts';
import { createClientAddress } from './request/client-address.ts';
import { createConsole } from './console/console.ts';
import { mount } from './mount.ts';
import { buildOpenApi } from './openapi/build-openapi.ts';
import { createPages } from './pages/pages.ts';
import { limitConnections } from './plugins/connection-limits.ts';
import { lingerOnClose } from './plugins/lingering-close.ts';
import { serializePipelines } from './plugins/pipelines.ts';
import { createRecentRequests } from './plugins/recent-requests.ts';
import { sendParserError, handleErrors, sendFrameworkError } from './plugins/error-handlers.ts';
import { closeSlowClients } from './plugins/slow-client-timeouts.ts';
import { createRequestLog } from './plugins/request-log.ts';
import { trackRequests } from './plugins/traffic.ts';
import { batchChecks, precompileChecks } from './precompile-checks.ts';
import { acceptSockets, isForSocket, socketPaths } from './sockets/accept-sockets.ts';
import { probes } from './probes.ts';
import { createStrangers } from './strangers.ts';
import type { ServerLimits, Services } from './route.ts';
import { routesOn } from './surfaces.ts';
import { routes } from './routes/routes.ts';

export interface ServerDeps extends Omit<Services, 'openapi' | 'recentRequests'> {
  ids: Ids;
  /** Default: `127.0.0.1`. */
  host?: string;
  /** Default: 0, any free port. */
  port?: number;
  /** Addresses and ranges that are exempt from the connection limit per address. */
  trustedProxies?: readonly string[];
  /** Time in which requests are still accepted after `leave`. Default: 0. */
  drainDelayMs?: number;
  /** Time that requests in flight get to finish after `stop`. Default: 25 s. */
  drainMs?: number;
  /** Called when a request has ended. */
  onAnswered?: ((call: AnsweredCall) => void) | undefined;
  tracer?: Pick<CallTracer, 'beginRequest'> | undefined;
  /** A `worker` answers only the probes. `all` if absent. */
  role?: Role;
}

export interface Server extends Service {
  /** For example `http://127.0.0.1:8080`; empty until `start` resolves. */
  readonly url: string;
  /**
   * Begins the end: `/readyz` fails, and every answer closes its connection, so that load balancers turn to other processes. Resolves
   * after `drainDelayMs`, in which requests are served as before. `stop` begins with it.
   */
  leave(): Promise<void>;
}

/** Time that requests get to answer their clients after the abort that ends the drain time. */
const abortGraceMs = 1_000;

/** HTTP server of the API. `stop` rejects new requests, waits `drainMs` for those in flight, then aborts the rest. */
export function createServer(deps: ServerDeps): Server {
  const { clock, ids, log, limits, drainDelayMs = 0, drainMs = 25_000 } = deps;
  const { host = '127.0.0.1', port = 0, trustedProxies = [], surfaces, role = 'all' } = deps;
  const console = surfaces.find(({ isConsole }) => isConsole);
  const serves = servesRequests(role);
  const mounted = !serves
    ? routes.filter(({ path }) => probes.has(path))
    : [
        ...createPages({ console: console !== undefined }),
        ...(console ? createConsole(console) : []),
        ...surfaces.flatMap((surface) => routesOn(surface, routes)),
      ];

  const paths = socketPaths(mounted);
  const app = fastify({
    exposeHeadRoutes: false,
    return503OnClosing: false,
    requestTimeout: 0,
    keepAliveTimeout: 75_000,
    http: {
      headersTimeout: 10_000,
      connectionsCheckingInterval: 5_000,
      maxHeaderSize: 16_384,
      // Answered with the standard body (error-handlers.ts).
      requireHostHeader: false,
      shouldUpgradeCallback: (request) => isForSocket(paths, request),
    },
    routerOptions: { maxParamLength: 16_384 },
    // Routes validate their own input, so Fastify does not load its schema compilers.
    schemaController: { compilersFactory: { buildValidator: unused, buildSerializer: unused } },
    frameworkErrors: (fault, request, reply) =>
      sendFrameworkError({ traffic, strangers }, fault, request, reply),
    clientErrorHandler: (fault, socket) => sendParserError(ids, fault, socket),
  });
  const recentRequests = createRecentRequests();
  const clientAddress = createClientAddress(trustedProxies);
  const requestLog = createRequestLog({ clock, log, clientAddress });
  const traffic = trackRequests(app, {
    clock,
    ids,
    requestLog,
    onAnswered(call) {
      if (isSingleRequest(call)) recentRequests.add(call);
      deps.onAnswered?.(call);
    },
    tracer: deps.tracer,
    instance: deps.batches.processId,
  });
  const pipelines = serializePipelines(app, traffic);
  const strangers = createStrangers({
    clock,
    perSecond: limits.anonymousPerSecond,
    clientAddress,
    onWait: (request) => pipelines.dropFollowing(request),
    isDraining: () => traffic.draining,
  });
  const connections = limitConnections(app, { traffic, clock, log, limits: { ...limits, trustedProxies } });
  lingerOnClose(app, clock);
  const stalls = closeSlowClients(traffic, clock);
  const preparing = precompileChecks(
    batchChecks([...new Set(surfaces.flatMap(({ rules }) => rules.endpoints))]),
    clock,
  );
  handleErrors(app, mounted, { traffic, strangers, servesRequests: serves });
  app.removeAllContentTypeParsers();
  // `mount` reads bodies, after authentication and with the route's own limit.
  app.addContentTypeParser('*', (_request, _payload, done) => done(null));

  let openapi: string | undefined;
  const services: Services = {
    ...deps,
    recentRequests,
    // Built on the first request, to keep start-up fast.
    openapi: () => (openapi ??= JSON.stringify(buildOpenApi(routes, deps.version))),
    ready: async () => (traffic.leaving ? { ok: false, reason: 'draining' } : deps.ready()),
  };
  const budget = createBodyBudget(bodyBudgetBytes(limits, surfaces));
  const mounting = { services, traffic, connections, budget, clientAddress, strangers };
  for (const route of mounted) if (route.body !== 'multipart') mount(app, route, mounting);
  // A scope of its own: the multipart plugin adds a hook to every request of its scope.
  app.register(async (forms) => {
    await forms.register(multipart);
    for (const route of mounted) if (route.body === 'multipart') mount(forms, route, mounting);
  });

  const sockets = acceptSockets(app, { ...mounting, ids, requestLog, paths });

  let starting: Promise<void> | undefined;
  let leaving: Promise<void> | undefined;
  let stopping: Promise<void> | undefined;
  let url = '';

  async function listen() {
    await app.listen({ host: host === 'localhost' ? '127.0.0.1' : host, port });
    const address = app.server.address();
    if (address === null || typeof address === 'string') throw new Error('the server has no network address');
    const name = address.family === 'IPv6' ? `[${address.address}]` : address.address;
    url = `http://${name}:${address.port}`;
    stalls.start();
    if (serves) preparing.start();
    log.info({ url }, 'listening');
  }

  async function leave() {
    await starting?.catch(() => {});
    preparing.stop();
    traffic.leave();
    // A server that has not started, and a worker, get no requests.
    if (serves && url !== '' && drainDelayMs > 0) await sleep(clock, drainDelayMs);
  }

  async function drain() {
    await (leaving ??= leave());
    traffic.drain();
    sockets.drain();
    const closed = new Promise<void>((resolve) => app.server.close(() => resolve()));
    await within(clock, drainMs, traffic.idle());
    traffic.abort();
    // A client that is still sending its body can read the answer before the connection closes.
    const answered = traffic.idle().then(() => (app.server.closeIdleConnections(), closed));
    await within(clock, abortGraceMs, answered);
    stalls.stop();
    sockets.terminate();
    app.server.closeAllConnections();
    await app.close();
    requestLog.flush();
  }

  return {
    get url() {
      return url;
    },
    start() {
      if (leaving) return Promise.reject(new Error('a stopped server cannot be started again'));
      return (starting ??= listen());
    },
    leave: () => (leaving ??= leave()),
    stop: () => (stopping ??= drain()),
  };
}

/** Routes that send a request to a model. */
const modelRoutes = new Set(
  routes.filter(({ method, access }) => method === 'POST' && access === 'inference').map(({ path }) => path),
);

function isSingleRequest({ method, endpoint }: AnsweredCall): boolean {
  return method === 'POST' && modelRoutes.has(endpoint);
}

function unused(): never {
  throw new Error('routes must not define Fastify schemas');
}

/** At least twice the largest allowed body, because one org alone may hold half of the budget. */
function bodyBudgetBytes(limits: ServerLimits, surfaces: ServerDeps['surfaces']): number {
  const sizes = surfaces.flatMap(({ rules }) =>
    routes.map(({ body }) => (typeof body === 'object' ? body.maxBytes(limits, rules) : 0)),
  );
  return Math.max(limits.bodyBytesInFlight, 2 * Math.max(...sizes));
}

/** Resolves with `work`, or after `ms`. */
async function within(clock: Clock, ms: number, work: Promise<void>): Promise<void> {
  const done = new AbortController();
  await Promise.race([work, sleep(clock, ms, done.signal)]);
  done.abort();
}

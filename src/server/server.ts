import multipart from '@fastify/multipart';
import fastify from 'fastify';
import { type Clock, sleep } from '../base/clock.ts';
import type { Ids } from '../base/ids.ts';
import type { Service } from '../base/service.ts';
import type { AnsweredCall } from '../core/call-trace.ts';
import { createBodyBudget } from './body-budget.ts';
import { mount } from './mount.ts';
import { buildOpenApi } from './openapi/build-openapi.ts';
import { createPages } from './pages/pages.ts';
import { limitConnections } from './plugins/connection-limits.ts';
import { lingerOnClose } from './plugins/lingering-close.ts';
import { serializePipelines } from './plugins/pipelines.ts';
import { sendParserError, handleErrors, sendFrameworkError } from './plugins/error-handlers.ts';
import { closeSlowClients } from './plugins/slow-client-timeouts.ts';
import { trackRequests } from './plugins/traffic.ts';
import { batchChecks, precompileChecks } from './precompile-checks.ts';
import { acceptSockets, isForSocket } from './sockets/accept-sockets.ts';
import type { ServerLimits, Services } from './route.ts';
import { routes } from './routes/routes.ts';

export interface ServerDeps extends Omit<Services, 'openapi'> {
  ids: Ids;
  /** `127.0.0.1` when absent. */
  host?: string;
  /** 0, any free one, when absent. */
  port?: number;
  /** Addresses and ranges whose connections only the limit of all holds for; none when absent. */
  trustedProxies?: readonly string[];
  /** How long requests in flight may go on after `stop`; 25 s when absent. */
  drainMs?: number;
  /** Told of each request when it is over. */
  onAnswered?: ((call: AnsweredCall) => void) | undefined;
}

export interface Server extends Service {
  /** `http://127.0.0.1:8080`, once started. */
  readonly url: string;
}

/** After the drain time, requests in flight are aborted and have this long to say so to their clients. */
const abortGraceMs = 1_000;

/**
 * The HTTP door: plugins, then routes. It owns no data. `stop` refuses new work, lets requests in flight finish within the drain
 * time, then aborts them.
 */
export function createServer(deps: ServerDeps): Server {
  const {
    clock,
    ids,
    log,
    limits,
    trustedProxies = [],
    host = '127.0.0.1',
    port = 0,
    drainMs = 25_000,
  } = deps;
  const app = fastify({
    exposeHeadRoutes: false,
    return503OnClosing: false,
    requestTimeout: 0,
    keepAliveTimeout: 75_000,
    http: {
      headersTimeout: 10_000,
      connectionsCheckingInterval: 5_000,
      maxHeaderSize: 16_384,
      shouldUpgradeCallback: isForSocket,
    },
    routerOptions: { maxParamLength: 16_384 },
    // Fastify knows no schema of ours: it need not load what compiles them.
    schemaController: { compilersFactory: { buildValidator: unused, buildSerializer: unused } },
    frameworkErrors: (fault, request, reply) => sendFrameworkError(traffic, fault, request, reply),
    clientErrorHandler: (fault, socket) => sendParserError(ids, fault, socket),
  });
  const pages = createPages();
  const traffic = trackRequests(app, { clock, ids, log, onAnswered: deps.onAnswered });
  serializePipelines(app, traffic);
  const connections = limitConnections(app, { traffic, clock, log, limits: { ...limits, trustedProxies } });
  lingerOnClose(app, clock);
  const stalls = closeSlowClients(traffic, clock);
  const preparing = precompileChecks(batchChecks(deps.batches.endpoints), clock);
  handleErrors(app, [...routes, ...pages], traffic);
  app.removeAllContentTypeParsers();
  // Bodies are read by `mount`, after authentication and with the route's own limit.
  app.addContentTypeParser('*', (_request, _payload, done) => done(null));

  let openapi: string | undefined;
  const services: Services = {
    ...deps,
    // Made when somebody asks: a start should not wait for it.
    openapi: () => (openapi ??= JSON.stringify(buildOpenApi(routes, deps.version))),
    ready: async () => (traffic.draining ? { ok: false, reason: 'draining' } : deps.ready()),
  };
  const budget = createBodyBudget(bodyBudgetBytes(limits));
  const mounting = { services, traffic, connections, budget };
  for (const page of pages) mount(app, page, mounting);
  for (const route of routes) if (route.body !== 'multipart') mount(app, route, mounting);
  // The plugin hooks into every request of its scope: only forms pay for it.
  app.register(async (forms) => {
    await forms.register(multipart);
    for (const route of routes) if (route.body === 'multipart') mount(forms, route, mounting);
  });

  const sockets = acceptSockets(app, { ...mounting, ids });

  let starting: Promise<void> | undefined;
  let stopping: Promise<void> | undefined;
  let url = '';

  async function listen() {
    await app.listen({ host: host === 'localhost' ? '127.0.0.1' : host, port });
    const address = app.server.address();
    if (address === null || typeof address === 'string') throw new Error('the server has no network address');
    const name = address.family === 'IPv6' ? `[${address.address}]` : address.address;
    url = `http://${name}:${address.port}`;
    stalls.start();
    preparing.start();
    log.info({ url }, 'listening');
  }

  async function drain() {
    await starting?.catch(() => {});
    preparing.stop();
    traffic.drain();
    sockets.drain();
    const closed = new Promise<void>((resolve) => app.server.close(() => resolve()));
    await within(clock, drainMs, traffic.idle());
    traffic.abort();
    // A client that still sends a body reads its answer before the connection is closed.
    const answered = traffic.idle().then(() => (app.server.closeIdleConnections(), closed));
    await within(clock, abortGraceMs, answered);
    stalls.stop();
    sockets.terminate();
    app.server.closeAllConnections();
    await app.close();
  }

  return {
    get url() {
      return url;
    },
    start() {
      if (stopping) return Promise.reject(new Error('a stopped server cannot be started again'));
      return (starting ??= listen());
    },
    stop: () => (stopping ??= drain()),
  };
}

function unused(): never {
  throw new Error('no route has a schema for Fastify');
}

/** The largest body of all must fit into an org's share. */
function bodyBudgetBytes(limits: ServerLimits): number {
  const sizes = routes.map(({ body }) => (typeof body === 'object' ? body.maxBytes(limits) : 0));
  return Math.max(limits.bodyBytesInFlight, 2 * Math.max(...sizes));
}

/** Resolves with `work`, or after `ms`. */
async function within(clock: Clock, ms: number, work: Promise<void>): Promise<void> {
  const done = new AbortController();
  await Promise.race([work, sleep(clock, ms, done.signal)]);
  done.abort();
}

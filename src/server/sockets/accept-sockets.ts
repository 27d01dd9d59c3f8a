import type { IncomingMessage } from 'node:http';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import type { WebSocket } from 'ws';
import type { Ids } from '../../base/ids.ts';
import { roundToTenths } from '../../core/call-trace.ts';
import { ApiError } from '../../core/errors.ts';
import { socketFields } from '../../wire/responses/socket.ts';
import { authenticate, type MountDeps } from '../mount.ts';
import type { MountedRoute } from '../route.ts';
import type { Surface } from '../surface.ts';
import type { RequestLog } from '../plugins/request-log.ts';
import { reportFields } from '../request/report-fields.ts';
import { sendError } from '../answer/send.ts';
import { wrongMethod } from '../answer/to-api-error.ts';
import { routeUpgrades } from './upgrades.ts';
import { type ResponseSocket, serveResponses } from './response-socket.ts';

const endpoint = '/v1/responses';

/** Paths of the WebSocket, with their surfaces. */
export function socketPaths(routes: readonly MountedRoute[]): Map<string, Surface | undefined> {
  const posts = routes.filter(
    (route) => route.method === 'POST' && (route.endpoint ?? route.path) === endpoint,
  );
  // Browsers send cookies with the handshakes of any page.
  const own = posts.filter(({ surface }) => !surface?.isConsole);
  return new Map(own.map(({ path, surface }) => [path, surface]));
}

/**
 * True for an upgrade request to a WebSocket of the API. Any other one is answered as an ordinary request, and so is one
 * pipelined behind an unanswered request.
 */
export function isForSocket(
  paths: ReadonlyMap<string, unknown>,
  { method, url = '', headers, socket }: IncomingMessage,
): boolean {
  const { _httpMessage: answering } = socket as { _httpMessage?: object | null };
  const isOurs = method === 'GET' && paths.has(url.split('?', 1)[0] ?? '');
  return isOurs && headers.upgrade?.toLowerCase() === 'websocket' && !answering;
}

interface SocketDeps {
  paths: ReadonlyMap<string, Surface | undefined>;
  ids: Ids;
  requestLog: Pick<RequestLog, 'write'>;
}

/** Serves `GET /v1/responses` as a WebSocket on each surface, with the keys and limits of `POST`. */
export function acceptSockets(app: FastifyInstance, mounting: MountDeps & SocketDeps) {
  const { services, traffic, connections, budget, ids, requestLog, paths } = mounting;
  const { clock, log, limits, responses } = services;
  const open = new Map<WebSocket, ResponseSocket>();

  const pathOf = ({ url }: FastifyRequest) => url.split('?', 1)[0] ?? '';
  const authenticateAs = (request: FastifyRequest, signal: AbortSignal) => {
    const surface = paths.get(pathOf(request));
    return authenticate(request, { access: 'inference', ...(surface && { surface }) }, mounting, signal);
  };

  const checkUpgrade = (request: FastifyRequest, reply: FastifyReply, proceed: () => void) => {
    const tracked = traffic.of(request);
    const check = async () => {
      if (!isUpgraded(request.raw)) throw wrongMethod(request.method, ['POST']);
      tracked.caller = await authenticateAs(request, tracked.signal);
      connections.trust(request, reply);
      // For the log: the WebSocket library writes the status itself.
      reply.raw.statusCode = 101;
    };
    check().then(proceed, (thrown: unknown) => {
      if (!reply.raw.destroyed) sendError(reply, tracked, thrown);
    });
  };

  function serve(socket: WebSocket, request: FastifyRequest) {
    const tracked = traffic.of(request);
    const caller = tracked.caller!;
    const share = budget.open(caller.orgId);
    tracked.release = share.release;
    request.raw.socket.setNoDelay(true);
    const served = serveResponses({
      socket,
      connection: request.raw.socket,
      session: responses.open(caller),
      share,
      inline: (text, { caller: { orgId } }, hold) =>
        services.files.inline(orgId, text, limits.bodyBytes, hold),
      // A turn has no headers for warnings.
      report: reportFields(services, { onWarnings: () => {}, extra: socketFields }),
      clock,
      signal: tracked.signal,
      async call(signal) {
        const authenticated = await authenticateAs(request, signal);
        return { caller: authenticated, requestId: ids.next('req_'), endpoint, signal, trace: {} };
      },
      onTurnEnd(call, exactMs, failure) {
        const ms = roundToTenths(exactMs);
        const status = failure?.status ?? 200;
        if (call)
          services.recentRequests.add({
            requestId: call.requestId,
            startedAt: Math.round(clock.now() - exactMs),
            caller: call.caller,
            method: 'POST',
            route: endpoint,
            endpoint,
            status,
            code: failure?.code,
            ms,
            trace: call.trace ?? {},
          });
        const named = { request_id: call?.requestId, socket: tracked.requestId, route: pathOf(request) };
        requestLog.write({ what: 'turn', request, status, caller, failure, fields: { ...named, ms } });
      },
    });
    open.set(socket, served);
    socket.once('close', () => open.delete(socket));
    if (traffic.draining) served.drain();
  }

  const { isUpgraded, complete } = routeUpgrades(app, limits.bodyBytes);
  for (const path of paths.keys())
    app.route({ method: 'GET', url: path, onRequest: checkUpgrade, handler: upgrade });

  function upgrade(request: FastifyRequest, reply: FastifyReply) {
    const fault = complete(request.raw, (socket) => {
      socket.on('error', (error) => {
        // Errors of the client have a code of the library, which has answered them.
        if (!('code' in error && String(error.code).startsWith('WS_ERR_')))
          log.error(
            { request_id: traffic.of(request).requestId, route: endpoint, err: error },
            'WebSocket failed',
          );
        socket.terminate();
      });
      serve(socket, request);
    });
    if (fault !== undefined)
      throw new ApiError('malformed_request', `Not a valid WebSocket handshake: ${fault}.`);
    // After `complete`: if the library fails to load, Fastify answers the request.
    reply.hijack();
  }

  return {
    /** Closes idle sockets now and busy ones after their turn. */
    drain() {
      for (const served of open.values()) served.drain();
    },
    terminate() {
      for (const socket of open.keys()) socket.terminate();
    },
  };
}

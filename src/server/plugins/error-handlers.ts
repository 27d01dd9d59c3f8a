import type { IncomingMessage } from 'node:http';
import type { Socket } from 'node:net';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import type { Ids } from '../../base/ids.ts';
import { ApiError } from '../../core/errors.ts';
import { errorBody } from '../../wire/errors/error-body.ts';
import type { MountedRoute } from '../route.ts';
import { sendError } from '../answer/send.ts';
import { noSuchRoute, notServed, wrongMethod } from '../answer/to-api-error.ts';
import type { Strangers } from '../strangers.ts';
import type { TrackedRequest, Traffic } from './traffic.ts';

/** Answers unknown paths, wrong methods, and requests that the HTTP library rejects. */
export function handleErrors(
  app: FastifyInstance,
  routes: readonly MountedRoute[],
  { traffic, strangers, servesRequests }: { traffic: Traffic; strangers: Strangers; servesRequests: boolean },
): void {
  const unknown = servesRequests ? noSuchRoute : notServed;
  const paths = routes.map(({ method, path }) => ({ method, pattern: toPattern(path) }));

  app.setNotFoundHandler((request, reply) => {
    const path = request.url.split('?', 1)[0] ?? '';
    const methods = paths.filter(({ pattern }) => pattern.test(path)).map(({ method }) => method);
    // The path of one route may match the parameter of another.
    const allowed = [...new Set(methods)].flatMap((method) =>
      method === 'GET' ? ['GET', 'HEAD'] : [method],
    );
    const error = allowed.length > 0 ? wrongMethod(request.method, allowed) : unknown(path);
    void sendInTurn(strangers, traffic.of(request), { request, reply, error });
  });
  app.addHook('onRequest', ({ raw }, reply, done) => {
    const fault = protocolFault(raw);
    if (!fault) return done();
    reply.header('connection', 'close');
    sendError(reply, traffic.of({ raw }), fault);
  });
  // Other expectations than 100-continue may be ignored (RFC 9110, section 10.1.1).
  app.server.on('checkExpectation', (request, response) => app.server.emit('request', request, response));
  app.setErrorHandler((thrown, request, reply) => sendError(reply, traffic.of(request), thrown));
}

/** Answers a request that fails before routing, such as a path that cannot be decoded. */
export function sendFrameworkError(
  { traffic, strangers }: { traffic: Traffic; strangers: Strangers },
  error: unknown,
  request: FastifyRequest,
  reply: FastifyReply,
): void {
  void sendInTurn(strangers, traffic.begin(request, reply), { request, reply, error });
}

/** Sends an error that needs no key, paced like all requests without one. */
async function sendInTurn(
  strangers: Strangers,
  tracked: TrackedRequest,
  { request, reply, error }: { request: FastifyRequest; reply: FastifyReply; error: unknown },
): Promise<void> {
  const late = await strangers.turn(request, tracked.signal).then(
    () => undefined,
    (thrown: unknown) => thrown,
  );
  if (!reply.raw.destroyed && !reply.sent) sendError(reply, tracked, late ?? error);
}

/** Pattern of a route path: `:name` matches one segment, `*` any text. */
function toPattern(path: string): RegExp {
  const source = path
    .replaceAll(/[.]/g, '\\$&')
    .replaceAll(/:[^/]+/g, '[^/]+')
    .replace('*', '.+');
  return new RegExp(`^${source}$`);
}

const reasons: Record<string, ApiError> = {
  HPE_HEADER_OVERFLOW: new ApiError('headers_too_large', 'The request headers are larger than 16 KiB.'),
  ERR_HTTP_REQUEST_TIMEOUT: new ApiError('request_timeout', 'The request took too long to arrive.'),
};
const unreadable = new ApiError('malformed_request', 'Not a valid HTTP/1.1 request.');
/** Rejected because a proxy may see another end of such a body (request smuggling). */
const chunkedHttp10 = new ApiError(
  'malformed_request',
  'HTTP/1.0 does not support Transfer-Encoding. Send Content-Length, or use HTTP/1.1.',
);
const noHost = new ApiError('malformed_request', 'HTTP/1.1 requires a Host header.');

/** Reason to reject a request that the parser accepts. */
function protocolFault({ httpVersionMinor: minor, headers }: IncomingMessage): ApiError | undefined {
  if (minor === 0 && headers['transfer-encoding'] !== undefined) return chunkedHttp10;
  return minor > 0 && headers.host === undefined ? noHost : undefined;
}

const phrases: Record<number, string> = {
  400: 'Bad Request',
  408: 'Request Timeout',
  431: 'Request Header Fields Too Large',
};

/** Answers an error of the HTTP parser, for which there is no request. */
export function sendParserError(ids: Ids, fault: { code?: string }, socket: Socket): void {
  const { _httpMessage: answering } = socket as { _httpMessage?: { headersSent: boolean } | null };
  if (fault.code === 'ECONNRESET' || !socket.writable || answering?.headersSent) return void socket.destroy();
  const error = reasons[fault.code ?? ''] ?? unreadable;
  const requestId = ids.next('req_');
  const body = JSON.stringify(errorBody(error, requestId).body);
  const head = [
    `HTTP/1.1 ${error.status} ${phrases[error.status]}`,
    'Content-Type: application/json; charset=utf-8',
    `Content-Length: ${Buffer.byteLength(body)}`,
    `X-Request-Id: ${requestId}`,
    `Request-Id: ${requestId}`,
    'Connection: close',
  ];
  socket.end(`${head.join('\r\n')}\r\n\r\n${body}`);
}

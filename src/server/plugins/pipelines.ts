import type { IncomingMessage, RequestListener, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import type { FastifyInstance } from 'fastify';
import { LoopSlices } from '../../base/loop-slices.ts';
import { ApiError } from '../../core/errors.ts';
import { sendError } from '../send.ts';
import type { Traffic } from './traffic.ts';

/** Requests of one connection that may wait. The next one is refused, and what follows it is not parsed. */
const maxWaiting = 32;

/** The requests of one connection. One is answered at a time. */
interface Pipeline {
  isBusy: boolean;
  waiting: [IncomingMessage, ServerResponse][];
  /** The request too many. */
  refused: IncomingMessage | undefined;
}

const carried = Symbol('line');

interface Parser {
  onIncoming: (request: IncomingMessage) => number;
}
type PipelinedSocket = Socket & { [carried]?: Pipeline; parser?: Parser | null };

/**
 * Answers the requests of each connection one after the other, as if the client had waited for each answer. Node begins all
 * of them at once, so that a few connections full of small requests took seconds of the event loop from everyone else.
 * Requests that were sent ahead begin one in a turn of the event loop, whichever connection they came on.
 */
export function serializePipelines(app: FastifyInstance, traffic: Traffic): void {
  const { server } = app;
  const [answer] = server.listeners('request') as [RequestListener];
  const turns = new LoopSlices();
  server.removeListener('request', answer);
  server.on('request', (request, response) => {
    const socket: PipelinedSocket = request.socket;
    const line = (socket[carried] ??= { isBusy: false, waiting: [], refused: undefined });
    if (line.isBusy) wait(socket, line, request, response);
    else begin(socket, line, request, response);
  });

  function begin(socket: Socket, line: Pipeline, request: IncomingMessage, response: ServerResponse): void {
    if (socket.destroyed) return;
    line.isBusy = true;
    if (request === line.refused) response.shouldKeepAlive = false;
    response.once('close', () => next(socket, line));
    answer(request, response);
  }

  function wait(
    socket: PipelinedSocket,
    line: Pipeline,
    request: IncomingMessage,
    response: ServerResponse,
  ): void {
    // Only where the parser cannot be stopped.
    if (line.refused) return;
    line.waiting.push([request, response]);
    if (line.waiting.length > maxWaiting) refuse(socket, line, request);
  }

  function refuse(socket: PipelinedSocket, line: Pipeline, request: IncomingMessage): void {
    line.refused = request;
    if (socket.parser) socket.parser.onIncoming = stopParsing;
    socket.pause();
    // Handlers that read a body resume the connection.
    socket.on('resume', () => socket.pause());
  }

  function next(socket: Socket, line: Pipeline): void {
    const following = line.waiting.shift();
    line.isBusy = following !== undefined;
    if (!following) return;
    // After a stop has begun, the connection is closed as soon as nothing is being answered.
    if (traffic.draining) begin(socket, line, ...following);
    else void turns.next().then(() => begin(socket, line, ...following));
  }

  app.addHook('onRequest', ({ raw }, reply, done) => {
    if ((raw.socket as PipelinedSocket)[carried]?.refused !== raw) return done();
    sendError(reply, traffic.of({ raw }), tooMany());
  });
}

/** Has Node's parser take what follows for another protocol, and so leave it alone. */
function stopParsing(request: IncomingMessage & { upgrade?: boolean }): number {
  request.upgrade = false;
  return 2;
}

function tooMany(): ApiError {
  return new ApiError(
    'rate_limit_exceeded',
    `More than ${maxWaiting} requests wait on this connection: wait for answers before you send more.`,
    { retryAfter: 1 },
  );
}

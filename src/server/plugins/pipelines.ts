import type { IncomingMessage, RequestListener, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import type { FastifyInstance } from 'fastify';
import { LoopSlices } from '../../base/loop-slices.ts';
import { ApiError } from '../../core/errors.ts';
import { sendError } from '../answer/send.ts';
import type { Traffic } from './traffic.ts';

/** Queued requests of one connection. The next one is rejected, and the rest is not parsed. */
const maxWaiting = 32;

/** Requests of one connection, answered one at a time. */
interface Pipeline {
  current: ServerResponse | undefined;
  /** True if requests behind the current one are dropped and its answer closes the connection. */
  drops: boolean;
  waiting: QueuedRequest[];
  /** First request beyond the limit. */
  refused: IncomingMessage | undefined;
}

type QueuedRequest = [request: IncomingMessage, response: ServerResponse];

const pipelineKey = Symbol('pipeline');

interface Parser {
  onIncoming: (request: IncomingMessage) => number;
}
type PipelinedSocket = Socket & { [pipelineKey]?: Pipeline; parser?: Parser | null };

/**
 * Answers the pipelined requests of a connection one after the other. Node starts all of them together, so a few
 * connections full of small requests could block the event loop for seconds. Queued requests of all connections start one
 * per turn of the event loop.
 */
export function serializePipelines(app: FastifyInstance, traffic: Traffic) {
  const { server } = app;
  const [answer] = server.listeners('request') as [RequestListener];
  const turns = new LoopSlices();
  server.removeListener('request', answer);
  server.on('request', (request, response) => {
    const socket: PipelinedSocket = request.socket;
    const pipeline = (socket[pipelineKey] ??= newPipeline());
    (pipeline.current ? wait : begin)(socket, pipeline, [request, response]);
  });

  function begin(socket: Socket, pipeline: Pipeline, [request, response]: QueuedRequest): void {
    if (socket.destroyed) return;
    pipeline.current = response;
    if (request === pipeline.refused) response.shouldKeepAlive = false;
    response.once('close', () => next(socket, pipeline));
    answer(request, response);
  }

  function wait(socket: PipelinedSocket, pipeline: Pipeline, queued: QueuedRequest): void {
    // Still parsed only when the parser could not be stopped.
    if (pipeline.refused) return;
    if (pipeline.drops) return drop(socket, pipeline);
    pipeline.waiting.push(queued);
    if (pipeline.waiting.length > maxWaiting) refuse(socket, pipeline, queued[0]);
  }

  function refuse(socket: PipelinedSocket, pipeline: Pipeline, request: IncomingMessage): void {
    pipeline.refused = request;
    stop(socket);
  }

  function drop(socket: PipelinedSocket, pipeline: Pipeline): void {
    pipeline.waiting.length = 0;
    pipeline.current!.shouldKeepAlive = false;
    stop(socket);
  }

  function stop(socket: PipelinedSocket): void {
    if (socket.parser) socket.parser.onIncoming = stopParsing;
    socket.pause();
    // Handlers that read a body resume the connection.
    socket.on('resume', () => socket.pause());
  }

  function next(socket: Socket, pipeline: Pipeline): void {
    const following = pipeline.waiting.shift();
    pipeline.drops = false;
    pipeline.current = following?.[1];
    if (!following) return;
    // While draining, a connection closes as soon as it is idle, so there is no time to wait for a turn.
    if (traffic.draining) begin(socket, pipeline, following);
    else void turns.next().then(() => begin(socket, pipeline, following));
  }

  app.addHook('onRequest', ({ raw }, reply, done) => {
    if ((raw.socket as PipelinedSocket)[pipelineKey]?.refused !== raw) return done();
    sendError(reply, traffic.of({ raw }), tooMany());
  });

  return {
    /**
     * Drops the requests that are pipelined behind this one, which has to wait: its answer closes the connection if there are any. So a
     * client without a key keeps one request per connection in memory.
     */
    dropFollowing({ raw }: { raw: IncomingMessage }): void {
      const socket: PipelinedSocket = raw.socket;
      const pipeline = socket[pipelineKey];
      if (!pipeline?.current) return;
      pipeline.drops = true;
      if (pipeline.waiting.length > 0) drop(socket, pipeline);
    },
  };
}

const newPipeline = (): Pipeline => ({ current: undefined, drops: false, waiting: [], refused: undefined });

/** Makes Node's parser treat the rest of the connection as another protocol, so that it stops parsing. */
function stopParsing(request: IncomingMessage & { upgrade?: boolean }): number {
  request.upgrade = false;
  return 2;
}

function tooMany(): ApiError {
  return new ApiError(
    'rate_limit_exceeded',
    `More than ${maxWaiting} requests are queued on this connection. Wait for answers before you send more.`,
    { retryAfter: 1 },
  );
}

import type { OutgoingHttpHeaders } from 'node:http';
import { Readable } from 'node:stream';
import type { FastifyReply } from 'fastify';
import type { Clock } from '../base/clock.ts';
import type { ApiError } from '../core/errors.ts';
import { type ErrorFormat, errorBody } from '../wire/errors/error-body.ts';
import type { Answer } from './answer.ts';
import { writeEvents } from './event-stream.ts';
import { toApiError } from './to-api-error.ts';

const jsonType = 'application/json; charset=utf-8';

export interface SendContext {
  clock: Clock;
  signal: AbortSignal;
  /** Called on a failure after the answer began. */
  onFailure: (error: ApiError) => void;
}

/** Sends the answer of a handler. HEAD gets the headers of GET. */
export async function sendAnswer(reply: FastifyReply, answer: Answer, context: SendContext): Promise<void> {
  if (answer.kind === 'events') return sendEvents(reply, answer, context);
  const isHead = reply.request.method === 'HEAD';
  // Fast path past Fastify, unless a body is still arriving (lingering-close.ts).
  if (answer.kind === 'json' && !isHead && reply.request.raw.complete) return sendText(reply, answer);
  reply.headers(answer.headers);
  if (answer.kind === 'json') {
    reply.code(answer.status).header('content-type', jsonType);
    if (isHead) reply.header('content-length', Buffer.byteLength(answer.text));
    void reply.send(isHead ? undefined : answer.text);
    return;
  }
  const { status, bytes } = answer;
  const body = isHead || !bytes ? undefined : Readable.from(reportFailure(bytes, context.onFailure));
  void reply.code(status).send(body);
}

function sendText(reply: FastifyReply, { status, headers, text }: Extract<Answer, { kind: 'json' }>): void {
  const { raw } = reply;
  const given = reply.getHeaders();
  reply.hijack();
  const size = { 'content-type': jsonType, 'content-length': Buffer.byteLength(text) };
  raw.writeHead(status, { ...given, ...headers, ...size } as OutgoingHttpHeaders);
  raw.end(text);
}

/** Passes bytes through and reports a failure: once begun, a body cannot become an error, only end early. */
async function* reportFailure(bytes: AsyncIterable<Uint8Array>, failed: SendContext['onFailure']) {
  try {
    yield* bytes;
  } catch (error) {
    failed(toApiError(error));
    throw error;
  }
}

async function sendEvents(
  reply: FastifyReply,
  answer: Extract<Answer, { kind: 'events' }>,
  context: SendContext,
): Promise<void> {
  await writeEvents({
    response: reply.raw,
    takeOver: () => void reply.hijack(),
    headers: () => ({ ...(reply.getHeaders() as Record<string, string>), ...answer.headers }),
    events: answer.events,
    clock: context.clock,
    signal: context.signal,
    toErrorEvent(thrown) {
      const error = toApiError(thrown);
      context.onFailure(error);
      return answer.failed(error);
    },
  });
}

/** Sends the error body and headers for a thrown value, and records the failure. */
export function sendError(
  reply: FastifyReply,
  tracked: { requestId: string; errors?: ErrorFormat | undefined; onFailure: (error: ApiError) => void },
  thrown: unknown,
): void {
  const error = toApiError(thrown);
  tracked.onFailure(error);
  const { method, url } = reply.request;
  const format = tracked.errors ?? errorFormat(url);
  const where = method === 'GET' ? 'query' : 'body';
  const { status, headers, body } = errorBody(error, tracked.requestId, format, where);
  if (status === 401) reply.header('www-authenticate', 'Bearer');
  void reply.code(status).headers(headers).type(jsonType).send(JSON.stringify(body));
}

/** Format of errors and of rate limit headers for a path at `/v1`. Requests that are rejected early have no route to read it from. */
export function errorFormat(url: string): ErrorFormat {
  return /^\/v1\/messages(\/|\?|$)/.test(url) ? 'messages' : 'chat';
}

import type { OutgoingHttpHeader } from 'node:http';
import { Readable } from 'node:stream';
import type { FastifyReply } from 'fastify';
import type { Clock } from '../../base/clock.ts';
import type { ApiError } from '../../core/errors.ts';
import { type ErrorFormat, errorBody } from '../../wire/errors/error-body.ts';
import type { Answer } from './answer.ts';
import { writeEvents } from './event-stream.ts';
import { toApiError } from './to-api-error.ts';

const jsonType = 'application/json; charset=utf-8';

export interface SendContext {
  clock: Clock;
  signal: AbortSignal;
  /** Called on a failure after the answer began. */
  onFailure: (error: ApiError) => void;
  /** Headers about rate limits that are known by now. */
  rateHeaders: () => Readonly<Record<string, string>> | undefined;
}

/** Sends the answer of a handler. HEAD gets the headers of GET. */
export async function sendAnswer(reply: FastifyReply, answer: Answer, context: SendContext): Promise<void> {
  if (answer.kind === 'events') return sendEvents(reply, answer, context);
  const isHead = reply.request.method === 'HEAD';
  // Fast path past Fastify, unless a body is still arriving (lingering-close.ts).
  if (answer.kind === 'json' && !isHead && reply.request.raw.complete)
    return sendText(reply, answer, context.rateHeaders());
  reply.headers({ ...context.rateHeaders(), ...answer.headers });
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

function sendText(
  reply: FastifyReply,
  { status, headers, text }: Extract<Answer, { kind: 'json' }>,
  rateHeaders: ReturnType<SendContext['rateHeaders']>,
): void {
  const { raw } = reply;
  const own: Record<string, string> = {
    ...headers,
    'content-type': jsonType,
    'content-length': `${Buffer.byteLength(text)}`,
  };
  // Names and values in turn, which Node writes faster than an object of many members.
  const list: OutgoingHttpHeader[] = [];
  const given = reply.getHeaders();
  for (const name in given) if (!(name in own)) list.push(name, given[name]!);
  for (const name in rateHeaders) if (!(name in own)) list.push(name, rateHeaders[name]!);
  for (const name in own) list.push(name, own[name]!);
  reply.hijack();
  raw.writeHead(status, list);
  raw.end(text);
}

/** Passes bytes through and reports a failure: after its first byte, a body cannot become an error, only end early. */
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
    headers: () =>
      ({ ...reply.getHeaders(), ...context.rateHeaders(), ...answer.headers }) as Record<string, string>,
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
  tracked: Pick<SendContext, 'onFailure'> & {
    requestId: string;
    errors?: ErrorFormat | undefined;
    rateHeaders?: ReturnType<SendContext['rateHeaders']>;
  },
  thrown: unknown,
): void {
  const error = toApiError(thrown);
  tracked.onFailure(error);
  const { method, url } = reply.request;
  const format = tracked.errors ?? errorFormat(url);
  const where = method === 'GET' ? 'query' : 'body';
  const { status, headers, body } = errorBody(error, tracked.requestId, format, where);
  if (status === 401) reply.header('www-authenticate', 'Bearer');
  void reply
    .code(status)
    .headers({ ...tracked.rateHeaders, ...headers })
    .type(jsonType)
    .send(JSON.stringify(body));
}

/** Format of errors and of rate limit headers for a path at `/v1`. Requests that are rejected early have no route to read it from. */
export function errorFormat(url: string): ErrorFormat {
  return /^\/v1\/messages(\/|\?|$)/.test(url) ? 'messages' : 'chat';
}

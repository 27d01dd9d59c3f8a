import { createHash } from 'node:crypto';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { isId } from '../base/ids.ts';
import { inTurns } from '../base/loop-turns.ts';
import { notFound } from '../core/errors.ts';
import type { Caller } from '../core/org.ts';
import type { BodyBudget, BodyShare } from './body-budget.ts';
import { headerValues, refuseDuplicates } from './headers.ts';
import type { Connections } from './plugins/connections.ts';
import type { Exchange, Traffic } from './plugins/traffic.ts';
import { checkedUtf8, decodeText, readBody, requireMediaType } from './read-body.ts';
import { readForm } from './read-form.ts';
import type { Incoming, Mounted, Services } from './route.ts';
import { sendAnswer, sendError } from './send.ts';
import { noSuchRoute } from './to-api-error.ts';

export interface Mounting {
  services: Services;
  traffic: Traffic;
  connections: Connections;
  budget: BodyBudget;
}

/** A key may have been revoked while a body came in that took so long. */
const recheckAfterMs = 1_000;

const nobody: Caller = Object.freeze({ orgId: '', keyId: '', scopes: [], models: [] });

/** Puts a route on the server: who asks, may they, what do they send; then the handler; then its answer. */
export function mount(app: FastifyInstance, route: Mounted, mounting: Mounting): void {
  const { services, traffic, connections } = mounting;
  const answer = (request: FastifyRequest, reply: FastifyReply) => {
    const exchange = traffic.of(request);
    exchange.work = run(exchange, request, reply).catch((error: unknown) => fail(exchange, reply, error));
  };
  app.route({
    method: route.method === 'GET' ? ['GET', 'HEAD'] : route.method,
    url: route.path,
    // Before Fastify would look at the body, which it has no use for, unless it is a form.
    ...(route.body !== 'multipart' && { onRequest: answer }),
    handler: answer,
  });

  async function run(exchange: Exchange, request: FastifyRequest, reply: FastifyReply): Promise<void> {
    refuseDuplicates(request.raw);
    const begun = services.clock.monotonic();
    const caller = await callerOf(request, route, services);
    const recheck = async () => void (await callerOf(request, route, services));
    exchange.caller = caller;
    if (route.access !== 'open') connections.welcome(request, reply);
    const share = route.body ? shareOf(exchange, caller, reply) : noShare;
    const incoming: Incoming = {
      requestId: exchange.requestId,
      caller,
      method: request.method,
      ...paramsOf(request, route),
      query: request.query as Record<string, unknown>,
      headers: request.headers,
      startedAt: exchange.startedAt,
      body: await bodyOf(request, route, { services, caller, share }),
      form: () => readForm(request),
      hold: share.hold,
      recheck,
      // What goes on in the background answers nobody here.
      answers: (model) => void (reply.sent || reply.header('x-offpeak-model', model)),
      known: exchange.known,
      signal: exchange.signal,
    };
    // A body may have ended after a stop was answered.
    exchange.signal.throwIfAborted();
    if (services.clock.monotonic() - begun >= recheckAfterMs) await recheck();
    await sendAnswer(reply, await route.handle(incoming, services), {
      clock: services.clock,
      signal: exchange.signal,
      failed: exchange.failed,
    });
  }

  /** What the request holds of the budget, until it is answered. */
  function shareOf(exchange: Exchange, caller: Caller, reply: FastifyReply): BodyShare {
    const share = mounting.budget.open(caller.orgId);
    if (reply.raw.destroyed) throw new Error('the client went away');
    exchange.release = share.release;
    return share;
  }

  function fail(exchange: Exchange, reply: FastifyReply, thrown: unknown): void {
    // Nobody is there to read it: what was thrown is only the echo of the client going away.
    if (!reply.raw.destroyed && !reply.sent) sendError(reply, exchange, thrown);
  }
}

export async function callerOf(
  request: FastifyRequest,
  route: Pick<Mounted, 'access'>,
  services: Services,
): Promise<Caller> {
  if (route.access === 'open') return nobody;
  const caller = await services.accounts.authenticate({
    authorization: headerValues(request.raw, 'authorization'),
    xApiKey: headerValues(request.raw, 'x-api-key'),
  });
  if (route.access !== 'key') services.accounts.require(caller, route.access);
  return caller;
}

/** The parameters as the client meant them. Taken from the raw path, so that `%2F` stays inside one. */
function paramsOf(request: FastifyRequest, route: Mounted): Pick<Incoming, 'param' | 'second'> {
  const at = route.path.search(/[:*]/);
  if (at < 0) return noParams;
  const path = (request.url.split('?', 1)[0] ?? '').slice(at);
  const [, tail = '', name] = /^[^/]*(\/[^:]*)?(:.+)?$/.exec(route.path.slice(at)) ?? [];
  const end = name === undefined ? path.length - tail.length : path.indexOf('/');
  const param = decodePath(path.slice(0, end));
  if (route.id && !isId(route.id.prefix, param)) throw notFound(route.id.what);
  return { param, second: name === undefined ? '' : decodePath(path.slice(end + tail.length)) };
}

const noParams = { param: '', second: '' };

function decodePath(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    throw noSuchRoute();
  }
}

async function bodyOf(
  request: FastifyRequest,
  route: Mounted,
  { services, caller, share }: { services: Services; caller: Caller; share: BodyShare },
): Promise<Incoming['body']> {
  if (route.body === undefined) return noBody;
  if (route.body === 'multipart') {
    requireMediaType(request.raw, 'multipart/form-data');
    return noBody;
  }
  requireMediaType(request.raw, 'application/json');
  const most = route.body.maxBytes(services.limits);
  const bytes = await readBody(request.raw, most, share);
  const body = bodyFrom(bytes);
  if (route.access !== 'inference' || !bytes.includes('"file_id"')) return body;
  const inlined = await services.files.inline(caller.orgId, body.text, most, share.hold);
  if (inlined === body.text) return body;
  const filled = Buffer.from(inlined);
  share.hold(filled.length);
  return bodyFrom(filled);
}

/** Decoded when a handler asks for the text: some work on the bytes alone. */
function bodyFrom(bytes: Buffer): Incoming['body'] {
  let text: string | undefined;
  return {
    get text() {
      return (text ??= decodeText(bytes));
    },
    utf8: () => checkedUtf8(bytes),
    sha256: () => inTurns(hashSteps(bytes)),
  };
}

/** So many bytes are hashed in a turn. */
const hashedInTurn = 4 << 20;

function* hashSteps(bytes: Uint8Array): Generator<undefined, string> {
  const hash = createHash('sha256');
  for (let at = 0; at < bytes.length; at += hashedInTurn) {
    if (at > 0) yield;
    hash.update(bytes.subarray(at, at + hashedInTurn));
  }
  return hash.digest('hex');
}

const noShare: BodyShare = { hold() {} };
const noBody: Incoming['body'] = bodyFrom(Buffer.alloc(0));

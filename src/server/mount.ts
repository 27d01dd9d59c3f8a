import { createHash } from 'node:crypto';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { isId } from '../base/ids.ts';
import { heavySlices } from '../base/loop-slices.ts';
import { ApiError, notFound } from '../core/errors.ts';
import type { Caller } from '../core/org.ts';
import { warningsHeader } from '../wire/shared/field-warnings.ts';
import { rateHeaders } from '../wire/errors/rate-headers.ts';
import type { Answer } from './answer/answer.ts';
import type { BodyBudget, BodyShare } from './request/body-budget.ts';
import type { ClientAddress } from './request/client-address.ts';
import { requireOwnOrigin } from './console/own-origin.ts';
import { findSession } from './console/session-cookie.ts';
import { headerValues, refuseDuplicateHeaders } from './request/headers.ts';
import type { Connections } from './plugins/connection-limits.ts';
import type { TrackedRequest, Traffic } from './plugins/traffic.ts';
import { withModel } from './request/model-in-path.ts';
import { checkedUtf8, decodeText, readBody, requireMediaType } from './request/read-body.ts';
import { readForm } from './request/read-form.ts';
import type { Incoming, MountedRoute, Services } from './route.ts';
import { errorFormat, sendAnswer, sendError } from './answer/send.ts';
import type { Strangers } from './strangers.ts';
import type { Surface } from './surface.ts';
import { noSuchRoute } from './answer/to-api-error.ts';

export interface MountDeps {
  services: Services;
  traffic: Traffic;
  connections: Connections;
  budget: BodyBudget;
  clientAddress: ClientAddress;
  strangers: Strangers;
}

/** After a slow body, the key is checked again: it may have been revoked meanwhile. */
const recheckAfterMs = 1_000;

const anonymous: Caller = Object.freeze({ orgId: '', keyId: '', scopes: [], models: [] });

/** Registers a route: authenticates the caller, reads the body, calls the handler and sends its answer. */
export function mount(app: FastifyInstance, route: MountedRoute, mounting: MountDeps): void {
  const { services, traffic, connections } = mounting;
  const { endpoint = route.path, surface = services.surfaces[0] } = route;
  const errors = surface.errors ?? errorFormat(endpoint);
  const handle = (request: FastifyRequest, reply: FastifyReply) => {
    const tracked = traffic.of(request);
    tracked.endpoint = endpoint;
    tracked.errors = errors;
    const endInteractive = route.access === 'inference' ? heavySlices.enterInteractive() : undefined;
    tracked.work = run(tracked, request, reply).catch((error: unknown) => {
      if (!reply.raw.destroyed && !reply.sent) sendError(reply, tracked, error);
    });
    if (endInteractive) void tracked.work.finally(endInteractive);
  };
  app.route({
    method: route.method === 'GET' ? ['GET', 'HEAD'] : route.method,
    url: route.path,
    // JSON bodies are read here, so the answer starts before Fastify's own body handling.
    ...(route.body !== 'multipart' && { onRequest: handle }),
    handler: handle,
  });

  async function run(tracked: TrackedRequest, request: FastifyRequest, reply: FastifyReply): Promise<void> {
    const begun = services.clock.monotonic();
    if (surface.isConsole) reply.header('cache-control', 'no-store');
    const authenticated = () => authenticate(request, route, mounting, tracked.signal);
    const caller = await authenticated();
    const recheck = async () => void (await authenticated());
    tracked.caller = caller;
    if (route.access !== 'open') connections.trust(request, reply);
    const share = route.body ? openShare(tracked, caller, reply) : noShare;
    const params = readParams(request, route);
    const incoming: Incoming = {
      requestId: tracked.requestId,
      endpoint,
      surface,
      caller,
      address: mounting.clientAddress(request.raw) ?? null,
      method: request.method,
      ...params,
      query: request.query as Record<string, unknown>,
      headers: request.headers,
      startedAt: tracked.startedAt,
      body: await readJson(request, route, { services, surface, caller, share, ...params }),
      form: () => readForm(request),
      reserveBytes: share.reserve,
      recheck,
      // Work that continues in the background can report after the answer was sent.
      onModel: (model) => void (reply.sent || reply.header('x-offpeak-model', model)),
      onWarnings: (warnings) => void reply.header('x-offpeak-warnings', warningsHeader(warnings)),
      onRates: (rates) => void (tracked.rateHeaders = rateHeaders(rates, errors, services.clock.now())),
      trace: tracked.trace,
      signal: tracked.signal,
    };
    // The server may have aborted the request while the body was arriving.
    tracked.signal.throwIfAborted();
    if (services.clock.monotonic() - begun >= recheckAfterMs) await recheck();
    const answered = withStatus(await route.handle(incoming, services), surface.createdStatus);
    await sendAnswer(reply, answered, {
      clock: services.clock,
      signal: tracked.signal,
      onFailure: tracked.onFailure,
      rateHeaders: () => tracked.rateHeaders,
    });
  }

  /** Budget share of the request, released when its answer ends. */
  function openShare(tracked: TrackedRequest, caller: Caller, reply: FastifyReply): BodyShare {
    const share = mounting.budget.open(caller.orgId);
    if (reply.raw.destroyed) throw new Error('the client went away');
    tracked.release = share.release;
    return share;
  }
}

/** Answer with the status that the surface has for a new resource. */
function withStatus(answer: Answer, created: number): Answer {
  const isNew = answer.kind === 'json' && answer.status === 201;
  return isNew && created !== 201 ? { ...answer, status: created } : answer;
}

/**
 * Authenticates a request for a route. One without a valid key waits for its turn.
 * @param signal aborts when the client has left
 */
export async function authenticate(
  request: FastifyRequest,
  route: Pick<MountedRoute, 'access' | 'surface'>,
  { services: { accounts }, strangers }: Pick<MountDeps, 'services' | 'strangers'>,
  signal: AbortSignal,
): Promise<Caller> {
  const { isConsole, keyHeader } = route.surface ?? {};
  let caller: Caller;
  try {
    refuseDuplicateHeaders(request.raw);
    if (isConsole) requireOwnOrigin(request.raw);
    if (route.access === 'open') caller = anonymous;
    else if (isConsole) caller = (await findSession(accounts.sessions, request.headers)).caller;
    else {
      const authorization = headerValues(request.raw, 'authorization');
      const values = headerValues(request.raw, keyHeader ?? 'x-api-key');
      caller = await accounts.authenticate(
        keyHeader
          ? { authorization, xApiKey: [], instead: { name: keyHeader, values } }
          : { authorization, xApiKey: values },
      );
    }
  } catch (error) {
    if (error instanceof ApiError) await strangers.turn(request, signal);
    throw error;
  }
  if (route.access === 'open') await strangers.turn(request, signal);
  else if (route.access !== 'key') accounts.require(caller, route.access);
  return caller;
}

/** Path parameters, decoded from the raw path so that `%2F` stays inside its segment. */
function readParams(request: FastifyRequest, route: MountedRoute): Pick<Incoming, 'param' | 'secondParam'> {
  const at = route.path.search(/[:*]/);
  if (at < 0) return noParams;
  const path = (request.url.split('?', 1)[0] ?? '').slice(at);
  const [, tail = '', name] = /^[^/]*(\/[^:]*)?(:.+)?$/.exec(route.path.slice(at)) ?? [];
  const end = name === undefined ? path.length - tail.length : path.indexOf('/');
  const param = decodePath(path.slice(0, end));
  if (route.id && !isId(route.id.prefix, param)) throw notFound(route.id.what);
  return { param, secondParam: name === undefined ? '' : decodePath(path.slice(end + tail.length)) };
}

const noParams = { param: '', secondParam: '' };

function decodePath(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    throw noSuchRoute();
  }
}

async function readJson(
  request: FastifyRequest,
  route: MountedRoute,
  {
    services,
    surface,
    caller,
    share,
    param,
  }: { services: Services; surface: Surface; caller: Caller; share: BodyShare; param: string },
): Promise<Incoming['body']> {
  if (route.body === undefined) return noBody;
  if (route.body === 'multipart') {
    requireMediaType(request.raw, 'multipart/form-data');
    return noBody;
  }
  if (route.body.optional && !hasBody(request)) return emptyObject;
  requireMediaType(request.raw, 'application/json');
  const maxBytes = route.body.maxBytes(services.limits, surface.rules);
  const received = await readBody(request.raw, maxBytes, share, caller.orgId);
  const bytes = surface.modelInPath ? withModel(received, param) : received;
  const body = lazyBody(bytes, caller.orgId);
  if (route.access !== 'inference' || !bytes.includes('"file_id"')) return body;
  const inlined = await services.files.inline(caller.orgId, body.text, maxBytes, share.reserve);
  if (inlined === body.text) return body;
  const filled = Buffer.from(inlined);
  share.reserve(filled.length);
  return lazyBody(filled, caller.orgId);
}

/**
 * Body whose text is decoded on first use: some handlers need only the bytes.
 * @param owner org that sends it
 */
function lazyBody(bytes: Buffer, owner: string): Incoming['body'] {
  let text: string | undefined;
  return {
    get text() {
      return (text ??= decodeText(bytes));
    },
    utf8: () => checkedUtf8(bytes),
    sha256: () => heavySlices.run(owner, hashSteps(bytes)),
  };
}

/** Bytes that are hashed before the event loop gets a turn. */
const hashSliceBytes = 512 << 10;

function* hashSteps(bytes: Uint8Array): Generator<undefined, string> {
  const hash = createHash('sha256');
  for (let at = 0; at < bytes.length; at += hashSliceBytes) {
    if (at > 0) yield;
    hash.update(bytes.subarray(at, at + hashSliceBytes));
  }
  return hash.digest('hex');
}

const noShare: BodyShare = { reserve() {} };
const noBody: Incoming['body'] = lazyBody(Buffer.alloc(0), '');
const emptyObject = lazyBody(Buffer.from('{}'), '');

function hasBody({ headers }: FastifyRequest): boolean {
  return headers['transfer-encoding'] !== undefined || Number(headers['content-length'] ?? 0) > 0;
}

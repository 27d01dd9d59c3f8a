import type { IncomingHttpHeaders } from 'node:http';
import type { ChatRequest } from '../../wire/chat/chat.ts';
import { isEmbeddings } from '../../wire/embeddings/embeddings.ts';
import { builtBody } from '../../wire/json/json-body.ts';
import type { Engine, RateLimitStatus } from '../engines.ts';
import { sendMinimalRequest } from '../minimal-request.ts';
import { createChatCalls } from './chat-calls.ts';
import { addressOf } from './connection/address.ts';
import { createConnections } from './connection/connections.ts';
import { createJsonClient } from './connection/json-client.ts';
import { createOperatorLog } from './connection/operator-log.ts';
import { readRateLimit } from './connection/rate-headers.ts';
import type { RefusalContext } from './connection/status-errors.ts';
import { defaultTimeouts } from './connection/timeouts.ts';
import { createEmbeddingsCall } from './embeddings-call.ts';
import { headersOf } from './flavors/flavors.ts';
import { createNativeCalls } from './native/native-calls.ts';
import { countTimeouts } from './probe/count-tokens.ts';
import { createProber, type Prober } from './probe/prober.ts';
import { watchLiveness } from './probe/liveness.ts';
import { createSystemPlacement } from './systems/system-placement.ts';
import type { UpstreamOptions } from './upstream-options.ts';

/**
 * A server that speaks chat completions, over HTTP/1.1, or another format that they are translated to (`request/dialects.ts`).
 * Requests go out as the client's bytes with little replaced (`request/request-text.ts`), answers come back repaired or refused
 * (`answer/`). The server may be down when it is started: at most it is asked then what it is (`probe/`).
 */
export function createUpstreamEngine(options: UpstreamOptions): Engine {
  const { model, apiKey, slots, clock, ids, log } = options;
  const address = addressOf(options.url, model);
  const timeouts = { ...defaultTimeouts, ...options.timeouts };
  const never = new AbortController().signal;
  const secrets = [apiKey ?? '', ...address.secrets, ...Object.values(options.headers ?? {})].filter(
    (secret) => secret.length > 2,
  );
  const notes = createOperatorLog(log, clock, { upstream: address.host, upstream_model: model });

  let onRate: ((told: RateLimitStatus) => void) | undefined;
  function onHeaders(told: IncomingHttpHeaders): void {
    const rate = onRate && readRateLimit(told, clock.now());
    if (rate) onRate?.(rate);
  }

  const connections = createConnections({
    origin: address.origin,
    ca: options.ca,
    headers: headersOf(options),
    timeouts,
    besideTimeouts: countTimeouts,
    clock,
    beginsAtOnce: () => profile.now.traits.asStream === 'at once',
    onHeaders,
  });

  const context = (): RefusalContext => ({
    now: clock.now(),
    secrets,
    failures: profile.now.traits.failures,
    note: notes.refusal,
  });

  const profile: Prober = createProber({
    options,
    address,
    get: async (path) => connections.beside.get(path, never),
    post: async (path, body) => connections.beside.post(path, JSON.stringify(body), never),
    isOpen: () => connections.open !== undefined,
    context,
  });

  const { idleMs } = timeouts;
  const hangs = watchLiveness({ clock, idleMs, connections, address, profile });

  const exchanges = createJsonClient({
    transport() {
      const { work } = connections;
      // Of the others nobody knows whether their door is open while they work.
      if (profile.now.traits.liveness) hangs.begin();
      return work;
    },
    pathOf: address.path,
    context,
    repairs: notes.repairs,
  });

  const systems = createSystemPlacement((place) =>
    log.info(
      { upstream: address.host, upstream_model: model, place },
      'the upstream refuses system messages elsewhere',
    ),
  );

  const engine: Engine = {
    slots,
    get capabilities() {
      return profile.now.capabilities;
    },

    async start() {
      connections.reopen();
      await profile.look();
    },

    async stop() {
      const closed = connections.close();
      profile.rest();
      hangs.stop();
      await closed;
    },

    ...createChatCalls({ exchanges, profile, systems, clock, newCallId: () => ids.next('call_') }),
    native: createNativeCalls(exchanges, profile),
    embed: createEmbeddingsCall(exchanges, profile, options),
    onRateLimit: (listener) => void (onRate = listener),
    probe: () => profile.probe(),
    tryOut: (signal) => sendMinimalRequest(engine, signal),

    async countTokens(request) {
      const { traits, dialect, request: wording } = profile.now;
      if (traits.tokenCounters.length === 0 || isEmbeddings(request)) return undefined;
      const text = systems.placed(dialect.text(builtBody(request), false, wording));
      return profile.countTokens(JSON.parse(text) as ChatRequest);
    },
  };
  return engine;
}

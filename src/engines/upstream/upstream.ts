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
import { createDirectCalls } from './direct/direct-calls.ts';
import { headersOf } from './flavors/flavors.ts';
import { createNativeCalls } from './native/native-calls.ts';
import { probeTimeouts } from './probe/count-tokens.ts';
import { watchLiveness } from './probe/liveness.ts';
import { createProber, type Prober } from './probe/prober.ts';
import { createSystemPlacement } from './systems/system-placement.ts';
import type { UpstreamOptions } from './upstream-options.ts';

/**
 * Engine for a server that is called over HTTP/1.1 with chat completions, or with another format that they are translated to
 * (`request/dialects.ts`). Requests keep the client's bytes except for a few edits (`request/request-text.ts`); answers are
 * repaired or rejected (`answer/`). The server may be down at start-up: it is only probed then (`probe/`).
 */
export function createUpstreamEngine(options: UpstreamOptions): Engine {
  const { model, apiKey, slots, clock, ids, log } = options;
  const address = addressOf(options.url, model);
  const about = { upstream: address.host, upstream_model: model };
  const timeouts = { ...defaultTimeouts, ...options.timeouts };
  const never = new AbortController().signal;
  const secrets = [apiKey ?? '', ...address.secrets, ...Object.values(options.headers ?? {})].filter(
    (secret) => secret.length > 2,
  );
  const operatorLog = createOperatorLog(log, clock, about);
  let onRateLimit: ((status: RateLimitStatus) => void) | undefined;

  const connections = createConnections({
    origin: address.origin,
    ca: options.ca,
    headers: headersOf(options),
    timeouts,
    probeTimeouts,
    clock,
    startsAtOnce: () => prober.profile.traits.asStream === 'at once',
    onHeaders(headers) {
      const status = onRateLimit && readRateLimit(headers, clock.now());
      if (status) onRateLimit?.(status);
    },
  });

  const context = (): RefusalContext => ({
    now: clock.now(),
    secrets,
    failures: prober.profile.traits.failures,
    logMessage: operatorLog.refusal,
  });

  const prober: Prober = createProber({
    options,
    address,
    get: async (path) => connections.probes.get(path, never),
    post: async (path, body) => connections.probes.post(path, JSON.stringify(body), never),
    isOpen: () => connections.open !== undefined,
    context,
  });

  const hangs = watchLiveness({ clock, idleMs: timeouts.idleMs, connections, address, prober });

  const client = createJsonClient({
    transport() {
      const { work } = connections;
      // Other flavors may be unresponsive while they work.
      if (prober.profile.traits.liveness) hangs.begin();
      return work;
    },
    pathOf: address.path,
    context,
    repairs: operatorLog.repairs,
    router: options.router,
  });

  const systems = createSystemPlacement((place) =>
    log.info({ ...about, place }, 'the upstream accepts system messages only in this place'),
  );

  const engine: Engine = {
    slots,
    get capabilities() {
      return prober.profile.capabilities;
    },

    async start() {
      connections.reopen();
      await prober.detectFlavor();
    },

    async stop() {
      const closed = connections.close();
      prober.stop();
      hangs.stop();
      await closed;
    },

    ...createChatCalls(client, prober, systems, clock, () => ids.next('call_')),
    native: createNativeCalls(client, prober),
    direct: createDirectCalls(client, prober, options),
    onRateLimit: (listener) => void (onRateLimit = listener),
    probe: () => prober.probe(),
    tryOut: (signal) => sendMinimalRequest(engine, signal),

    async countTokens(request) {
      const { traits, dialect, request: profile } = prober.profile;
      if (traits.tokenCounters.length === 0 || isEmbeddings(request)) return undefined;
      const text = dialect.text(builtBody(request), false, profile, systems.place);
      return prober.countTokens(JSON.parse(text) as ChatRequest);
    },
  };
  return engine;
}

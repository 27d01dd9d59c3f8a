import type { IncomingHttpHeaders } from 'node:http';
import type { ChatRequest } from '../../wire/chat/chat.ts';
import { isEmbeddings } from '../../wire/embeddings/embeddings.ts';
import { builtBody } from '../../wire/json/json-body.ts';
import type { Engine, RateTold } from '../engines.ts';
import { giveLeastWork } from '../least-work.ts';
import { createChatCalls } from './chat-calls.ts';
import { addressOf } from './connection/address.ts';
import { createConnections } from './connection/connections.ts';
import { createExchanges } from './connection/exchanges.ts';
import { createNotes } from './connection/notes.ts';
import { rateTold } from './connection/rate-headers.ts';
import type { RefusalContext } from './connection/status-errors.ts';
import { defaultTimeouts } from './connection/timeouts.ts';
import { createEmbeddingsCall } from './embeddings-call.ts';
import { headersOf } from './flavors/flavors.ts';
import { createNativeCalls } from './native/native-calls.ts';
import { countTimeouts } from './probe/count-tokens.ts';
import { createProfile, type Profile } from './probe/profile.ts';
import { watchServer } from './probe/watch.ts';
import { createSystemPlaces } from './systems/system-places.ts';
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
  const notes = createNotes(log, clock, { upstream: address.host, upstream_model: model });

  let onRate: ((told: RateTold) => void) | undefined;
  function onHeaders(told: IncomingHttpHeaders): void {
    const rate = onRate && rateTold(told, clock.now());
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

  const profile: Profile = createProfile({
    options,
    address,
    get: async (path) => connections.beside.get(path, never),
    post: async (path, body) => connections.beside.post(path, JSON.stringify(body), never),
    isOpen: () => connections.open !== undefined,
    context,
  });

  const { idleMs } = timeouts;
  const hangs = watchServer({ clock, idleMs, connections, address, profile });

  const exchanges = createExchanges({
    transport() {
      const { work } = connections;
      // Of the others nobody knows whether their door is open while they work.
      if (profile.now.traits.life) hangs.begin();
      return work;
    },
    pathOf: address.path,
    context,
    repairs: notes.repairs,
  });

  const systems = createSystemPlaces((place) =>
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
    onRate: (listener) => void (onRate = listener),
    probe: () => profile.probe(),
    tryOut: (signal) => giveLeastWork(engine, signal),

    async countTokens(request) {
      const { traits, dialect, wording } = profile.now;
      if (traits.counter.length === 0 || isEmbeddings(request)) return undefined;
      const text = systems.placed(dialect.text(builtBody(request), false, wording));
      return profile.countTokens(JSON.parse(text) as ChatRequest);
    },
  };
  return engine;
}

import type { Socket } from 'node:net';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { addressMatcher, clientNetwork, normalizeAddress } from '../../base/addresses.ts';
import type { Clock, Timer } from '../../base/clock.ts';
import type { Log } from '../../base/log.ts';
import { ApiError } from '../../core/errors.ts';
import { sendError } from '../answer/send.ts';
import type { Traffic } from './traffic.ts';

/** Keep-alive of a connection that has sent no valid key. */
const anonymousKeepAliveMs = 5_000;
/** Keep-alive while such a connection still sends a body that was answered already (lingering-close.ts). */
const anonymousLingerMs = 35_000;
/** Announced keep-alive: shorter than the real one, so that the client does not send while the server closes. */
const anonymousKeepAlive = 'timeout=4';
/** Idle time after which an unauthenticated connection can be closed in favour of a new one of the same address. */
const idleMs = 1_000;
/** Excess connections that are answered with 429 at a time, if their request comes within `idleMs`; others are closed. */
const maxRefusals = 100;
const warnIntervalMs = 60_000;

export interface ConnectionLimits {
  /** In total. */
  connections: number;
  /** For each IPv4 address or IPv6 /64 network. */
  connectionsPerAddress: number;
  /** Addresses and ranges that are exempt from `connectionsPerAddress`. */
  trustedProxies: readonly string[];
}

interface ConnectionState {
  peer: Peer | undefined;
  /** True after a valid key, and for a trusted proxy. */
  trusted: boolean;
  refused: boolean;
  /** Closes the connection. */
  timer: Timer | undefined;
}

/** Open connections of one address, and the start of the idle time of those without a key, oldest first. */
interface Peer {
  open: number;
  idle: Map<Socket, number>;
}

const stateKey = Symbol('connection');
type TrackedSocket = Socket & { [stateKey]?: ConnectionState };

export type Connections = ReturnType<typeof limitConnections>;

/**
 * Limits the connections of each address, so that no client can use up all of them. At the limit, a new connection
 * replaces an idle one that has never sent a valid key; without such a one it is rejected with 429.
 */
export function limitConnections(
  app: FastifyInstance,
  { traffic, clock, log, limits }: { traffic: Traffic; clock: Clock; log: Log; limits: ConnectionLimits },
) {
  const peers = new Map<string, Peer>();
  const isTrusted = addressMatcher(limits.trustedProxies);
  let refusals = 0;
  let warnedAt = Number.NEGATIVE_INFINITY;

  app.server.maxConnections = limits.connections;
  app.server.on('drop', (dropped) => warn(dropped?.remoteAddress, 'connection limit reached'));
  app.server.on('connection', (socket: TrackedSocket) => {
    const address = normalizeAddress(socket.remoteAddress ?? '');
    const trusted = isTrusted(address);
    const state: ConnectionState = { peer: undefined, trusted, refused: false, timer: undefined };
    socket[stateKey] = state;
    if (!trusted) register(socket, state, address);
  });

  function register(socket: Socket, state: ConnectionState, address: string) {
    const name = clientNetwork(address);
    const peer = peers.get(name) ?? { open: 0, idle: new Map() };
    peers.set(name, peer);
    state.peer = peer;
    peer.open++;
    socket.once('close', () => {
      state.timer?.cancel();
      peer.idle.delete(socket);
      if (state.refused) refusals--;
      if (--peer.open === 0) peers.delete(name);
    });
    if (peer.open > limits.connectionsPerAddress && !evictIdle(peer)) refuse(socket, state, address);
    else peer.idle.set(socket, clock.monotonic());
  }

  function evictIdle({ idle }: Peer): boolean {
    const [first] = idle;
    if (!first || clock.monotonic() - first[1] < idleMs) return false;
    idle.delete(first[0]);
    first[0].destroy();
    return true;
  }

  function refuse(socket: Socket, state: ConnectionState, address: string) {
    warn(address, 'connection limit of an address reached');
    if (refusals >= maxRefusals) return void socket.destroy();
    state.refused = true;
    refusals++;
    state.timer = clock.after(idleMs, () => socket.destroy());
  }

  function warn(address: string | undefined, what: string) {
    if (clock.monotonic() - warnedAt < warnIntervalMs) return;
    warnedAt = clock.monotonic();
    log.warn({ address }, what);
  }

  app.addHook('onRequest', (request, reply, done) => {
    const socket: TrackedSocket = request.raw.socket;
    const state = socket[stateKey];
    if (!state || state.trusted) return done();
    state.timer?.cancel();
    if (state.refused) {
      reply.header('connection', 'close');
      return sendError(reply, traffic.of(request), tooMany(limits.connectionsPerAddress));
    }
    state.peer?.idle.delete(socket);
    reply.header('keep-alive', anonymousKeepAlive);
    reply.raw.once('finish', () => {
      if (state.trusted || socket.destroyed) return;
      state.peer?.idle.set(socket, clock.monotonic());
      const waitMs = request.raw.complete ? anonymousKeepAliveMs : anonymousLingerMs;
      state.timer = clock.after(waitMs, () => socket.destroy());
    });
    done();
  });

  return {
    /** Marks the connection of a request with a valid key as trusted. */
    trust(request: FastifyRequest, reply: FastifyReply): void {
      const { socket } = request.raw as { socket: TrackedSocket };
      const state = socket[stateKey];
      if (!state || state.trusted) return;
      state.trusted = true;
      // An earlier pipelined request may have just started the timer.
      state.timer?.cancel();
      state.peer?.idle.delete(socket);
      reply.removeHeader('keep-alive');
    },
  };
}

function tooMany(limit: number): ApiError {
  return new ApiError(
    'rate_limit_exceeded',
    `Your address has more than ${limit} open connections. Close some or reuse them.`,
    { retryAfter: 1 },
  );
}

import type { Socket } from 'node:net';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { addressMatcher, clientNetwork, normalizeAddress } from '../../base/addresses.ts';
import type { Clock, Timer } from '../../base/clock.ts';
import type { Log } from '../../base/log.ts';
import { ApiError } from '../../core/errors.ts';
import { sendError } from '../send.ts';
import type { Traffic } from './traffic.ts';

/** How long a connection on which no valid key was seen may wait for its next request. */
const anonymousKeepAliveMs = 5_000;
/** The same while it still sends a body that was answered already (lingering-close.ts). */
const anonymousLingerMs = 35_000;
/** Its client is told less, so that it does not send while we close. */
const anonymousKeepAlive = 'timeout=4';
/** After so long without a request a stranger gives way to a new connection of the same machine. */
const idleMs = 1_000;
/** So many connections too many are answered at a time, each if its request comes within `idleMs`; the others are closed. */
const maxRefusals = 100;
/** How often the log tells of refusals. */
const warnEveryMs = 60_000;

export interface ConnectionLimits {
  /** All together. */
  connections: number;
  /** Of one address; for IPv6 of one /64. */
  connectionsPerAddress: number;
  /** Addresses and ranges that only the first limit holds for. */
  trustedProxies: readonly string[];
}

/** What is known of one connection. */
interface ConnectionState {
  machine: ClientAddress | undefined;
  /** A valid key was seen, or it is that of a trusted proxy. */
  known: boolean;
  refused: boolean;
  /** Until it is closed. */
  timer: Timer | undefined;
}

/** Its open connections, and since when those wait on which no key was seen, the longest first. */
interface ClientAddress {
  open: number;
  idle: Map<Socket, number>;
}

const carried = Symbol('visit');
type TrackedSocket = Socket & { [carried]?: ConnectionState };

export type Connections = ReturnType<typeof limitConnections>;

/**
 * Bounds the connections of each address, so that nobody can take them all. One that has too many gets room for a new one by
 * closing what waits idly without ever having shown a key; if nothing does, the new one is refused with 429.
 */
export function limitConnections(
  app: FastifyInstance,
  { traffic, clock, log, limits }: { traffic: Traffic; clock: Clock; log: Log; limits: ConnectionLimits },
) {
  const machines = new Map<string, ClientAddress>();
  const isTrusted = addressMatcher(limits.trustedProxies);
  let refusals = 0;
  let warnedAt = Number.NEGATIVE_INFINITY;

  app.server.maxConnections = limits.connections;
  app.server.on('drop', (dropped) => warn(dropped?.remoteAddress, 'all connections are taken'));
  app.server.on('connection', (socket: TrackedSocket) => {
    const address = normalizeAddress(socket.remoteAddress ?? '');
    const known = isTrusted(address);
    const visit: ConnectionState = { machine: undefined, known, refused: false, timer: undefined };
    socket[carried] = visit;
    if (!known) enter(socket, visit, address);
  });

  function enter(socket: Socket, visit: ConnectionState, address: string) {
    const name = clientNetwork(address);
    const machine = machines.get(name) ?? { open: 0, idle: new Map() };
    machines.set(name, machine);
    visit.machine = machine;
    machine.open++;
    socket.once('close', () => {
      visit.timer?.cancel();
      machine.idle.delete(socket);
      if (visit.refused) refusals--;
      if (--machine.open === 0) machines.delete(name);
    });
    if (machine.open > limits.connectionsPerAddress && !giveWay(machine)) refuse(socket, visit, address);
    else machine.idle.set(socket, clock.monotonic());
  }

  function giveWay({ idle }: ClientAddress): boolean {
    const [first] = idle;
    if (!first || clock.monotonic() - first[1] < idleMs) return false;
    idle.delete(first[0]);
    first[0].destroy();
    return true;
  }

  function refuse(socket: Socket, visit: ConnectionState, address: string) {
    warn(address, 'too many connections from one address');
    if (refusals >= maxRefusals) return void socket.destroy();
    visit.refused = true;
    refusals++;
    visit.timer = clock.after(idleMs, () => socket.destroy());
  }

  function warn(address: string | undefined, what: string) {
    if (clock.monotonic() - warnedAt < warnEveryMs) return;
    warnedAt = clock.monotonic();
    log.warn({ address }, what);
  }

  app.addHook('onRequest', (request, reply, done) => {
    const socket: TrackedSocket = request.raw.socket;
    const visit = socket[carried];
    if (!visit || visit.known) return done();
    visit.timer?.cancel();
    if (visit.refused) {
      reply.header('connection', 'close');
      return sendError(reply, traffic.of(request), tooMany(limits.connectionsPerAddress));
    }
    visit.machine?.idle.delete(socket);
    reply.header('keep-alive', anonymousKeepAlive);
    reply.raw.once('finish', () => {
      if (visit.known || socket.destroyed) return;
      visit.machine?.idle.set(socket, clock.monotonic());
      const waitMs = request.raw.complete ? anonymousKeepAliveMs : anonymousLingerMs;
      visit.timer = clock.after(waitMs, () => socket.destroy());
    });
    done();
  });

  return {
    /** The request brought a valid key: its connection is no stranger's. */
    welcome(request: FastifyRequest, reply: FastifyReply): void {
      const { socket } = request.raw as { socket: TrackedSocket };
      const visit = socket[carried];
      if (!visit || visit.known) return;
      visit.known = true;
      // A request that was sent before this one was answered may have ended just now.
      visit.timer?.cancel();
      visit.machine?.idle.delete(socket);
      reply.removeHeader('keep-alive');
    },
  };
}

function tooMany(limit: number): ApiError {
  return new ApiError(
    'rate_limit_exceeded',
    `Your address has more than ${limit} connections open: close some, or use those that are open again.`,
    { retryAfter: 1 },
  );
}

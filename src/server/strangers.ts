import type { FastifyRequest } from 'fastify';
import { clientNetwork } from '../base/addresses.ts';
import { type Clock, sleep } from '../base/clock.ts';
import { ApiError } from '../core/errors.ts';
import type { ClientAddress } from './request/client-address.ts';
import { probes } from './probes.ts';

/** Seconds' worth of requests that are answered without delay. */
const burst = 5;
/** Probes of load balancers have a bucket of their own, and are answered more often. */
const probeFactor = 5;
/** Longest delay. A request whose turn is later gets a 429 after it. */
const maxWaitMs = 10_000;
/** Networks in memory. Further ones share a bucket. */
const maxNetworks = 10_000;
const sweepMs = 1_000;

export interface StrangersDeps {
  clock: Clock;
  /** Requests per second of one network. */
  perSecond: number;
  clientAddress: ClientAddress;
  /** Called before a request waits. */
  onWait: (request: FastifyRequest) => void;
  isDraining: () => boolean;
}

export type Strangers = ReturnType<typeof createStrangers>;

/**
 * Paces the requests of each IPv4 address or IPv6 /64 network that have no valid key: open routes, and refusals. Above its rate their
 * answers are delayed, which costs the server less than refusing them would, and the client more.
 */
export function createStrangers({ clock, perSecond, clientAddress, onWait, isDraining }: StrangersDeps) {
  /** Monotonic time until which the past requests of each network would have been answered one per interval. */
  const busyUntil = new Map<string, number>();

  let sweptAt = Number.NEGATIVE_INFINITY;

  function sweep(now: number): void {
    if (now - sweptAt < sweepMs) return;
    sweptAt = now;
    for (const [name, until] of busyUntil) if (until <= now) busyUntil.delete(name);
  }

  /** Name of the bucket of a request; undefined if its client is unknown, behind a trusted proxy. */
  function bucketOf(request: FastifyRequest, isProbe: boolean): string | undefined {
    const address = clientAddress(request.raw);
    if (address === undefined) return undefined;
    const name = `${isProbe ? 'probe ' : ''}${clientNetwork(address)}`;
    if (busyUntil.has(name) || busyUntil.size < maxNetworks) return name;
    sweep(clock.monotonic());
    return busyUntil.size < maxNetworks ? name : 'other networks';
  }

  return {
    /**
     * Waits for the turn of a request.
     * @param signal aborts when the client has left
     * @throws ApiError `rate_limit_exceeded` (429) after 10 s if the turn comes later
     */
    async turn(request: FastifyRequest, signal: AbortSignal): Promise<void> {
      const isProbe = probes.has(request.url.split('?', 1)[0] ?? '');
      const name = bucketOf(request, isProbe);
      if (name === undefined) return;
      const interval = 1000 / (isProbe ? perSecond * probeFactor : perSecond);
      const now = clock.monotonic();
      const until = Math.max(now, busyUntil.get(name) ?? 0) + interval;
      const waitMs = until - burst * 1000 - now;
      const isLate = waitMs > maxWaitMs;
      if (!isLate) busyUntil.set(name, until);
      if (waitMs > 0 && !isDraining()) {
        onWait(request);
        await sleep(clock, Math.min(waitMs, maxWaitMs), signal);
      }
      if (isLate) throw tooMany(waitMs);
    },
  };
}

function tooMany(waitMs: number): ApiError {
  return new ApiError(
    'rate_limit_exceeded',
    'Too many requests without a valid API key came from your address. Wait, or send a valid key.',
    { retryAfter: waitMs / 1000 },
  );
}

import type { WaitingCause } from './waiting.ts';

/** Discovered concurrency limits, by server name. */
export type DiscoveredSlots = Record<string, number>;

/** Servers with an open breaker, by name. */
export type OpenBreakers = Record<string, OpenBreaker>;

export interface OpenBreaker {
  /** Remaining milliseconds. */
  ms: number;
  cause: WaitingCause;
}

/** Lease of one process on slots of a model, and its demand. */
export interface SlotLease {
  worker: string;
  slots: number;
  wants: number;
  /** Epoch milliseconds of the database. */
  until: number;
  /** Interactive requests of the process, to which the lines of all processes give way; none if absent. */
  interactive?: number;
  /** Discovered limit, in total and by server. */
  found?: { limit: number; slots: DiscoveredSlots };
  /** Servers whose breaker this process opened. */
  closed?: Record<string, { until: number; cause: WaitingCause }>;
}

export interface SlotLeaseRequest {
  /** Lines that all processes together may have in flight. */
  limit: number;
  /** Slots that the process could use: its lines in flight and those that it could send. */
  wants: number;
  inFlight: number;
  /** Interactive requests of the process to which lines give way; none if absent. */
  interactive?: number;
  /** Discovered limits on which `limit` rests. */
  discovered?: DiscoveredSlots;
  openBreakers?: OpenBreakers;
}

/** Share of one process in the slots of shared servers. */
export interface SlotShare {
  lines: number;
  /** Lines leased to the other processes. */
  others: number;
  /** Interactive requests of the other processes to which lines give way; none if absent. */
  interactive?: number;
  /** Limits discovered by the leading process; null if this process leads or nothing is to discover. */
  discovered: DiscoveredSlots | null;
  /** Limits remembered from earlier, to start from: halves of those that are old, because the servers may have shrunk since. */
  lastDiscovered?: DiscoveredSlots;
  /** Servers with a breaker opened by other processes. */
  openBreakers?: OpenBreakers;
}

export interface LeasedShare extends SlotShare {
  /** True if others still hold a part of the fair share. */
  isOwed: boolean;
  /** True if other processes want more than they have. */
  isWanted: boolean;
}

/** Duration of a lease that is not renewed. */
export const slotLeaseMs = 3_000;
/** Lifetime and owner name of remembered limits, and the age from which only half of them is trusted. */
const memory = { ms: 30 * 24 * 3_600_000, worker: '', oldMs: 24 * 3_600_000 } as const;
/** Length of a turn when there are more processes than slots. */
const turnMs = 10_000;

/**
 * Renews the lease of one process: its fair share, as far as it is free. A process above its share keeps its requests in flight and gets
 * no more until they end, so the total never exceeds the limit. The oldest process with work discovers unknown limits: several
 * discoverers would mistake each other's steps for a queue.
 * @returns the share, and all current leases
 */
export function leaseSlots(
  before: readonly SlotLease[],
  worker: string,
  { limit: ownLimit, wants, inFlight, interactive = 0, discovered, openBreakers = {} }: SlotLeaseRequest,
  now: number,
): { share: LeasedShare; leases: SlotLease[] } {
  const others = before.filter((lease) => lease.worker !== worker && lease.until > now);
  const oldestPeer = discovered && oldest(others.filter((lease) => lease.found && lease.wants > 0));
  const remembered = others.find((lease) => !isProcess(lease));
  const leader = oldestPeer && (oldestPeer.worker < worker || wants === 0) ? oldestPeer.found : undefined;
  const limit = leader?.limit ?? ownLimit;
  const leased = others.reduce((sum, { slots }) => sum + slots, 0);
  const share = fairShares(limit, [...others, { worker, wants }], Math.floor(now / turnMs)).get(worker) ?? 0;
  const lines = Math.max(0, Math.min(share, limit - leased));
  const slots = Math.max(lines, inFlight);
  const own: SlotLease = {
    worker,
    slots,
    wants,
    until: now + slotLeaseMs,
    ...(interactive > 0 && { interactive }),
    ...(discovered && { found: { limit: ownLimit, slots: discovered } }),
    ...(Object.keys(openBreakers).length > 0 && { closed: withExpiry(openBreakers, now) }),
  };
  const peerBreakers = openBreakersOf(others, now);
  const present = others.reduce((sum, lease) => sum + (lease.interactive ?? 0), 0);
  return {
    share: {
      lines,
      others: leased,
      isOwed: lines < share,
      isWanted: others.some((lease) => lease.wants > lease.slots),
      ...(present > 0 && { interactive: present }),
      discovered: leader?.slots ?? null,
      ...(remembered?.found && { lastDiscovered: trusted(remembered.found.slots, remembered.until, now) }),
      ...(peerBreakers && { openBreakers: peerBreakers }),
    },
    leases: [
      ...(own.found && !leader ? [remember(own.found, now), ...others.filter(isProcess)] : others),
      ...(slots + wants + interactive > 0 || own.closed ? [own] : []),
    ],
  };
}

function remember(found: SlotLease['found'] & object, now: number): SlotLease {
  return { worker: memory.worker, slots: 0, wants: 0, until: now + memory.ms, found };
}

function trusted(slots: DiscoveredSlots, until: number, now: number): DiscoveredSlots {
  const age = now + memory.ms - until;
  if (age <= memory.oldMs) return slots;
  return Object.fromEntries(Object.entries(slots).map(([name, limit]) => [name, Math.ceil(limit / 2)]));
}

function isProcess({ worker }: SlotLease): boolean {
  return worker !== memory.worker;
}

function withExpiry(breakers: OpenBreakers, now: number): SlotLease['closed'] & object {
  return Object.fromEntries(
    Object.entries(breakers).map(([name, { ms, cause }]) => [name, { until: now + ms, cause }]),
  );
}

function openBreakersOf(leases: readonly SlotLease[], now: number): OpenBreakers | null {
  const open = leases
    .flatMap(({ closed = {} }) => Object.entries(closed))
    .filter(([, { until }]) => until > now)
    .map(([name, { until, cause }]) => [name, { ms: until - now, cause }] as const);
  return open.length > 0 ? Object.fromEntries(open) : null;
}

/** Process ids sort by start time. */
function oldest(leases: readonly SlotLease[]): SlotLease | undefined {
  return leases.toSorted((a, b) => (a.worker < b.worker ? -1 : 1))[0];
}

/** Max-min fair shares; the remainder rotates with `turn`. */
function fairShares(
  limit: number,
  demands: readonly Pick<SlotLease, 'worker' | 'wants'>[],
  turn: number,
): Map<string, number> {
  const shares = new Map(demands.map(({ worker, wants }) => [worker, wants]));
  let left = Math.max(0, limit);
  let unmet = demands.toSorted((a, b) => (a.worker < b.worker ? -1 : 1));
  for (;;) {
    const level = Math.floor(left / unmet.length);
    const more = unmet.filter(({ wants }) => wants > level);
    if (more.length === unmet.length) break;
    for (const { wants } of unmet) if (wants <= level) left -= wants;
    unmet = more;
  }
  const level = Math.floor(left / unmet.length);
  const remainder = left - level * unmet.length;
  for (const [at, { worker }] of unmet.entries()) {
    const rank = (at + turn * Math.max(1, remainder)) % unmet.length;
    shares.set(worker, level + (rank < remainder ? 1 : 0));
  }
  return shares;
}

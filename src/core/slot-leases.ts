import type { WaitingCause } from './waiting.ts';

/** Requests to have in flight at servers that do not tell how many they work on at once, by the server. */
export type DiscoveredSlots = Record<string, number>;

/** Servers that take nothing at present, by their names: for how long, and why. */
export type OpenBreakers = Record<string, OpenBreaker>;

export interface OpenBreaker {
  ms: number;
  cause: WaitingCause;
}

/** What one process may have in flight at a model for a moment, and how much it would like to. */
export interface SlotLease {
  worker: string;
  slots: number;
  wants: number;
  /** Epoch milliseconds of the database. */
  until: number;
  /** Its limit, where servers do not tell theirs, and what that rests on. */
  found?: { limit: number; slots: DiscoveredSlots };
  /** Servers that it found to take nothing, and until when. */
  closed?: Record<string, { until: number; cause: WaitingCause }>;
}

export interface SlotLeaseRequest {
  /** Lines that all processes together may have in flight. */
  limit: number;
  /** Lines that this one has in flight or could send. */
  wants: number;
  inFlight: number;
  /** What it takes the limit from, where servers do not tell theirs. */
  discovered?: DiscoveredSlots;
  openBreakers?: OpenBreakers;
}

/** What one process may have in flight among those that ask the same servers. */
export interface SlotShare {
  lines: number;
  /** Lines that the others may have there. */
  others: number;
  /** What another one finds out for all; null where this one does, or nothing is to be found out. */
  discovered: DiscoveredSlots | null;
  /** What was found last, by whomever. */
  lastDiscovered?: DiscoveredSlots;
  /** What others found to take nothing. */
  openBreakers?: OpenBreakers;
}

/** What a process is told that asked. */
export interface LeasedShare extends SlotShare {
  /** Its fair share is more: others have still to give it back. */
  isOwed: boolean;
  /** Others want more than they may have. */
  isWanted: boolean;
}

/** How long a lease lasts that is not renewed. */
export const slotLeaseMs = 3_000;
/** How long what was found is kept for those that start later, and as whose. */
const memory = { ms: 30 * 24 * 3_600_000, worker: '' } as const;
/** Where there are fewer slots than processes, they take turns of this length. */
const turnMs = 10_000;

/**
 * Renews the lease of one process: its fair share, as far as others have left it. Who has more than his share keeps what
 * is in flight, and gets no more until that is done: together they never hold more than there is. Where servers do not tell
 * how much that is, the oldest process with work finds it out: several at a time would take each other's steps for a queue.
 * @returns its share, and all leases that hold now
 */
export function leaseSlots(
  before: readonly SlotLease[],
  worker: string,
  { limit: own, wants, inFlight, discovered: found, openBreakers: closed = {} }: SlotLeaseRequest,
  now: number,
): { share: LeasedShare; leases: SlotLease[] } {
  const others = before.filter((lease) => lease.worker !== worker && lease.until > now);
  const elder = found && oldest(others.filter((lease) => lease.found && lease.wants > 0));
  const kept = others.find((lease) => !isProcess(lease));
  const leader = elder && (elder.worker < worker || wants === 0) ? elder.found : undefined;
  const limit = leader?.limit ?? own;
  const held = others.reduce((sum, { slots }) => sum + slots, 0);
  const free = limit - held;
  const share = fairShares(limit, [...others, { worker, wants }], Math.floor(now / turnMs)).get(worker) ?? 0;
  const lines = Math.max(0, Math.min(share, free));
  const slots = Math.max(lines, inFlight);
  const until = now + slotLeaseMs;
  const mine: SlotLease = {
    worker,
    slots,
    wants,
    until,
    ...(found && { found: { limit: own, slots: found } }),
    ...(Object.keys(closed).length > 0 && { closed: untilOf(closed, now) }),
  };
  const heard = closedBy(others, now);
  return {
    share: {
      lines,
      others: held,
      isOwed: lines < share,
      isWanted: others.some((lease) => lease.wants > lease.slots),
      discovered: leader?.slots ?? null,
      ...(kept?.found && { lastDiscovered: kept.found.slots }),
      ...(heard && { openBreakers: heard }),
    },
    leases: [
      ...(mine.found && !leader ? [remembered(mine.found, now), ...others.filter(isProcess)] : others),
      ...(slots + wants > 0 || mine.closed ? [mine] : []),
    ],
  };
}

function remembered(found: SlotLease['found'] & object, now: number): SlotLease {
  return { worker: memory.worker, slots: 0, wants: 0, until: now + memory.ms, found };
}

function isProcess({ worker }: SlotLease): boolean {
  return worker !== memory.worker;
}

function untilOf(closed: OpenBreakers, now: number): SlotLease['closed'] & object {
  return Object.fromEntries(
    Object.entries(closed).map(([name, { ms, cause }]) => [name, { until: now + ms, cause }]),
  );
}

function closedBy(leases: readonly SlotLease[], now: number): OpenBreakers | null {
  const open = leases
    .flatMap(({ closed = {} }) => Object.entries(closed))
    .filter(([, { until }]) => until > now)
    .map(([name, { until, cause }]) => [name, { ms: until - now, cause }] as const);
  return open.length > 0 ? Object.fromEntries(open) : null;
}

/** Ids of processes grow with the time of their start. */
function oldest(leases: readonly SlotLease[]): SlotLease | undefined {
  return leases.toSorted((a, b) => (a.worker < b.worker ? -1 : 1))[0];
}

/** Everybody gets what he wants or as much as anybody else; what does not divide goes round. */
function fairShares(
  limit: number,
  asking: readonly Pick<SlotLease, 'worker' | 'wants'>[],
  turn: number,
): Map<string, number> {
  const shares = new Map(asking.map(({ worker, wants }) => [worker, wants]));
  let left = Math.max(0, limit);
  let hungry = asking.toSorted((a, b) => (a.worker < b.worker ? -1 : 1));
  for (;;) {
    const level = Math.floor(left / hungry.length);
    const more = hungry.filter(({ wants }) => wants > level);
    if (more.length === hungry.length) break;
    for (const { wants } of hungry) if (wants <= level) left -= wants;
    hungry = more;
  }
  const level = Math.floor(left / hungry.length);
  const over = left - level * hungry.length;
  for (const [at, { worker }] of hungry.entries()) {
    const place = (at + turn * Math.max(1, over)) % hungry.length;
    shares.set(worker, level + (place < over ? 1 : 0));
  }
  return shares;
}

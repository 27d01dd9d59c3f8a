/** What one process may have in flight at a model for a moment, and how much it would like to. */
export interface SlotLease {
  worker: string;
  slots: number;
  wants: number;
  /** Epoch milliseconds of the database. */
  until: number;
}

export interface SlotAsk {
  /** Lines that all processes together may have in flight. */
  limit: number;
  /** Lines that this one has in flight or could send. */
  wants: number;
  inFlight: number;
}

/** How long a lease lasts that is not renewed. */
export const slotLeaseMs = 3_000;
/** Where there are fewer slots than processes, they take turns of this length. */
const turnMs = 10_000;

/**
 * Renews the lease of one process: its fair share, as far as others have left it. Who has more than his share keeps what
 * is in flight, and gets no more until that is done: together they never hold more than there is.
 * @returns how many lines it may have in flight, and all leases that hold now
 */
export function leaseSlots(
  before: readonly SlotLease[],
  worker: string,
  { limit, wants, inFlight }: SlotAsk,
  now: number,
): { allowed: number; leases: SlotLease[] } {
  const others = before.filter((lease) => lease.worker !== worker && lease.until > now);
  const free = limit - others.reduce((sum, { slots }) => sum + slots, 0);
  const share = fairShares(limit, [...others, { worker, wants }], Math.floor(now / turnMs)).get(worker) ?? 0;
  const allowed = Math.max(0, Math.min(share, free));
  const slots = Math.max(allowed, inFlight);
  const mine: SlotLease = { worker, slots, wants, until: now + slotLeaseMs };
  return { allowed, leases: slots + wants > 0 ? [...others, mine] : others };
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

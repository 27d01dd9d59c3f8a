import type { Timer } from '../../base/clock.ts';
import { type LeasedShare, type SlotLeaseRequest, slotLeaseMs } from '../../core/slot-leases.ts';
import type { Catalog } from '../../core/model.ts';
import type { Capacity } from '../../inference/capacity.ts';
import type { Store } from '../../store/store.ts';
import type { BatchContext } from '../batch-context.ts';
import type { ClaimedChunks } from '../claimed/claimed-chunks.ts';

/**
 * How long after it asked a process asks again: with what it wants, with less, with less than its fair share, which others have
 * still to give back, and when its needs changed, be it that it wants more than it asked for or keeps what others want.
 */
const renewMs = { sated: 1_000, hungry: 250, owed: 100, changed: 50 } as const;
/** How often the slots that a process found are written down where nobody else asks for them. */
const rememberMs = 15_000;

export interface SlotLeasesDeps extends Pick<BatchContext, 'worker' | 'clock' | 'time' | 'log'> {
  store: { workers: Pick<Store['workers'], 'leaseSlots'> };
  catalog: Catalog;
  capacity: Pick<Capacity, 'discoveredSlots' | 'lease' | 'openBreakers' | 'sharedModels' | 'waiting'>;
  /** How many lines of a model all processes together may have in flight. */
  limit: (model: string) => number;
  chunks: Pick<ClaimedChunks, 'unsent' | 'inFlight'>;
  /** More may be sent than before. */
  onRoom: () => void;
}

/** What this process has of a model. */
interface Leased extends Pick<LeasedShare, 'lines' | 'isOwed' | 'isWanted'> {
  /** What it asked for. */
  wants: number;
  /** What is written down as its own: more than `lines` while that is in flight. */
  slots: number;
}

/**
 * Slots of servers that several processes may ask: each leases as many as it has work for, for a second or two, sends nothing
 * before it has asked, whether it knows of others or not, and gives back what it does not use. With it goes what each found out
 * of those servers. Where nobody else can be, only the slots that were found are written down, and read at the start.
 * Without the database each goes on with what it has until that lapses, and then with its share.
 */
export class SlotLeases {
  #deps: SlotLeasesDeps;
  #leased = new Map<string, Leased>();
  /** Models that nobody else asks, once it was read what was found of them before. */
  #read = new Set<string>();
  #asking = false;
  #askedAt = Number.NEGATIVE_INFINITY;
  #failed = false;
  #timer: Timer | null = null;
  /** When that goes off, in monotonic milliseconds. */
  #lookAt: number | null = null;
  /** Fires when what is leased runs out. */
  #end: Timer | null = null;
  #stopped = false;

  constructor(deps: SlotLeasesDeps) {
    this.#deps = deps;
  }

  stop(): void {
    this.#stopped = true;
    this.#timer?.cancel();
    this.#end?.cancel();
  }

  /** Lines came into hand or back: asks at once where nothing is leased yet, else when it is time. */
  look(): void {
    if (this.#asking || this.#stopped) return;
    const models = this.#models();
    if (models.length === 0 && this.#leased.size === 0) return;
    const waits = models.map((model) => this.#wait(model));
    const wait = Math.min(...waits, this.#leased.size > 0 ? renewMs.sated : Number.POSITIVE_INFINITY);
    if (wait === Number.POSITIVE_INFINITY) return;
    const at = this.#askedAt + wait;
    if (at <= this.#deps.clock.monotonic()) void this.#ask(models);
    else this.#schedule(at);
  }

  /** Whether lines of a model wait for the answer to the first question for its slots. */
  isAsking(model: string): boolean {
    return !this.#failed && !this.#leased.has(model) && !this.#isAlone(model) && this.#wants(model) > 0;
  }

  /** Those that others ask, too, and those of which this process finds out how much they can take. */
  #models(): string[] {
    const { catalog, capacity } = this.#deps;
    const alone = catalog.list().filter(({ id }) => this.#isAlone(id) && capacity.discoveredSlots(id));
    return [...capacity.sharedModels(), ...alone.map(({ id }) => id)];
  }

  #isAlone(model: string): boolean {
    return !this.#deps.capacity.sharedModels().has(model);
  }

  /** How long after it was asked last a model is asked for again. */
  #wait(model: string): number {
    const wants = this.#wants(model);
    if (this.#isAlone(model)) return wants > 0 ? rememberMs : Number.POSITIVE_INFINITY;
    const leased = this.#leased.get(model);
    if (leased?.isWanted && leased.slots > this.#keeps(model, leased)) return renewMs.changed;
    if (wants === 0) return this.#isClosed(model) ? renewMs.sated : Number.POSITIVE_INFINITY;
    if (!leased) return this.#failed ? renewMs.hungry : 0;
    if (leased.isOwed) return renewMs.owed;
    if (leased.lines >= wants) return renewMs.sated;
    return leased.lines < leased.wants ? renewMs.hungry : renewMs.changed;
  }

  /** What is in flight, and what may come to be before the next answer. */
  #keeps(model: string, leased: Leased | undefined): number {
    return Math.max(this.#deps.chunks.inFlight(model), Math.min(leased?.lines ?? 0, this.#wants(model)));
  }

  /** Servers that take nothing are tried by each process for itself. */
  #wants(model: string): number {
    const { chunks, capacity, limit } = this.#deps;
    if (capacity.waiting(model)) return 0;
    return Math.max(0, Math.min(limit(model), chunks.unsent(model) + chunks.inFlight(model)));
  }

  /** Lines wait for its servers: processes tell each other of those. */
  #isClosed(model: string): boolean {
    const { chunks, capacity } = this.#deps;
    return capacity.waiting(model) !== null && chunks.unsent(model) > 0;
  }

  /** Each line looks, and most find the same instant. */
  #schedule(at: number): void {
    if (at === this.#lookAt) return;
    const { clock } = this.#deps;
    this.#timer?.cancel();
    this.#lookAt = at;
    this.#timer = clock.after(at - clock.monotonic(), () => {
      this.#lookAt = null;
      this.look();
    });
  }

  async #ask(models: readonly string[]): Promise<void> {
    const { store, worker, clock, time, log, onRoom } = this.#deps;
    const asks = this.#asksFor(models);
    this.#asking = true;
    this.#askedAt = clock.monotonic();
    // A first question that hangs holds the lines no longer than a lease.
    if (this.#leased.size === 0) this.#lapseIn(slotLeaseMs);
    try {
      const shares = await store.workers.leaseSlots(worker, asks, time.now());
      this.#failed = false;
      for (const model of this.#leased.keys()) if (!(model in asks)) this.#leased.delete(model);
      for (const [model, share] of Object.entries(shares)) this.#learn(model, asks[model]!, share);
      this.#lapseIn(this.#askedAt + slotLeaseMs - clock.monotonic());
    } catch (error) {
      this.#failed = true;
      log.debug({ err: error }, 'slots could not be leased');
    } finally {
      this.#asking = false;
    }
    if (this.#stopped) return;
    onRoom();
    this.look();
  }

  #asksFor(models: readonly string[]): Record<string, SlotLeaseRequest> {
    const { capacity } = this.#deps;
    const asks: Record<string, SlotLeaseRequest> = {};
    for (const model of models) {
      const limit = this.#deps.limit(model);
      if (this.#isAlone(model)) {
        const known = this.#read.has(model) && capacity.discoveredSlots(model);
        asks[model] = { limit, wants: 0, inFlight: 0, ...(known && { discovered: known }) };
        continue;
      }
      const inFlight = this.#keeps(model, this.#leased.get(model));
      const wants = this.#wants(model);
      const found = capacity.discoveredSlots(model);
      const closed = capacity.openBreakers(model);
      if (wants > 0 || this.#leased.has(model) || this.#isClosed(model))
        asks[model] = {
          limit,
          wants,
          inFlight,
          ...(found && { discovered: found }),
          ...(closed && { openBreakers: closed }),
        };
    }
    return asks;
  }

  #learn(model: string, { wants, inFlight }: SlotLeaseRequest, share: LeasedShare): void {
    const { capacity } = this.#deps;
    const { lines, isOwed, isWanted } = share;
    capacity.lease(model, share);
    if (this.#isAlone(model)) this.#read.add(model);
    if (wants + inFlight > 0)
      this.#leased.set(model, { lines, isOwed, isWanted, wants, slots: Math.max(lines, inFlight) });
    else {
      this.#leased.delete(model);
      // It asks again before it sends anything.
      capacity.lease(model, null);
    }
  }

  /** Unless it is renewed before; counted from when it was asked for, as the database does, however long the answer took. */
  #lapseIn(ms: number): void {
    this.#end?.cancel();
    if (ms <= 0) this.#lapse();
    else if (!this.#stopped) this.#end = this.#deps.clock.after(ms, () => this.#lapse());
  }

  #lapse(): void {
    const { capacity, onRoom } = this.#deps;
    // Nothing was leased, and nothing asked for: that nothing came is no failure.
    if (this.#leased.size === 0 && !this.#asking) return;
    for (const model of this.#leased.keys()) capacity.lease(model, null);
    this.#leased.clear();
    this.#failed = true;
    onRoom();
  }
}

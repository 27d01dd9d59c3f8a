import type { Timer } from '../../base/clock.ts';
import { type LeasedShare, type SlotLeaseRequest, slotLeaseMs } from '../../core/slot-leases.ts';
import type { Catalog } from '../../core/model.ts';
import type { Capacity } from '../../inference/capacity.ts';
import type { Store } from '../../store/store.ts';
import type { BatchContext } from '../batch-context.ts';
import type { ClaimedChunks } from '../claimed/claimed-chunks.ts';

/**
 * Pauses between requests: with all wanted slots, with fewer, with less than the fair share (which peers still have to return),
 * and after a change of needs, such as unused slots that a peer wants.
 */
const renewMs = { sated: 1_000, hungry: 250, owed: 100, changed: 50 } as const;
/** Interval of saving the discovered slots of models that no peer shares. */
const saveMs = 15_000;

export interface SlotLeasesDeps extends Pick<BatchContext, 'worker' | 'clock' | 'time' | 'log'> {
  store: { workers: Pick<Store['workers'], 'leaseSlots'> };
  catalog: Catalog;
  capacity: Pick<
    Capacity,
    'discoveredSlots' | 'lease' | 'openBreakers' | 'sharedModels' | 'yieldsTo' | 'waiting'
  >;
  /** Number of lines of a model that all processes together may have in flight. */
  limit: (model: string) => number;
  chunks: Pick<ClaimedChunks, 'unsent' | 'inFlight'>;
  /** Called when more lines may be sent. */
  onRoom: () => void;
}

/** Slots that this process has leased of one model. */
interface Leased extends Pick<LeasedShare, 'lines' | 'isOwed' | 'isWanted'> {
  /** Slots that it requested. */
  wants: number;
  /** Slots stored as its own: more than `lines` while they are in flight. */
  slots: number;
}

/**
 * Slots of replicas that several processes share. Each process leases slots for its work for 3 seconds at a time, sends nothing
 * before its first request, and returns what it does not use. A request also carries the slots that the process has
 * discovered, and its open breakers. Of models without peers, only the discovered slots are stored, and read at start-up.
 * Without the database, a process continues until its lease lapses, and then uses an equal share.
 */
export class SlotLeases {
  #deps: SlotLeasesDeps;
  #leased = new Map<string, Leased>();
  /** Models whose interactive requests the other processes know of. */
  #announced = new Set<string>();
  /** Models without peers whose stored discovered slots are loaded. */
  #loaded = new Set<string>();
  #isRequesting = false;
  #requestedAt = Number.NEGATIVE_INFINITY;
  #hasFailed = false;
  #timer: Timer | null = null;
  /** Monotonic milliseconds at which `#timer` fires. */
  #dueAt: number | null = null;
  /** Fires when the leases lapse. */
  #lapseTimer: Timer | null = null;
  #stopped = false;

  constructor(deps: SlotLeasesDeps) {
    this.#deps = deps;
  }

  stop(): void {
    this.#stopped = true;
    this.#timer?.cancel();
    this.#lapseTimer?.cancel();
  }

  /** Requests slots if a request is due: at once for models without a lease. Called whenever lines were claimed or have ended. */
  requestIfDue(): void {
    if (this.#isRequesting || this.#stopped) return;
    const models = this.#models();
    if (models.length === 0 && this.#leased.size === 0) return;
    const waits = models.map((model) => this.#wait(model));
    const wait = Math.min(...waits, this.#leased.size > 0 ? renewMs.sated : Number.POSITIVE_INFINITY);
    if (wait === Number.POSITIVE_INFINITY) return;
    const at = this.#requestedAt + wait;
    if (at <= this.#deps.clock.monotonic()) void this.#request(models);
    else this.#schedule(at);
  }

  /** True while lines of a model wait for its first lease. */
  awaitsFirstLease(model: string): boolean {
    return (
      !this.#hasFailed && !this.#leased.has(model) && !this.#isAlone(model) && this.#slotsWanted(model) > 0
    );
  }

  /** Ids of shared models, and of models whose slots this process discovers. */
  #models(): string[] {
    const { catalog, capacity } = this.#deps;
    const alone = catalog.list().filter(({ id }) => this.#isAlone(id) && capacity.discoveredSlots(id));
    return [...capacity.sharedModels(), ...alone.map(({ id }) => id)];
  }

  #isAlone(model: string): boolean {
    return !this.#deps.capacity.sharedModels().has(model);
  }

  /** Pause in milliseconds before the next request for a model. */
  #wait(model: string): number {
    return Math.min(this.#waitForSlots(model), this.#waitToAnnounce(model));
  }

  /** Pause before the other processes learn of interactive requests: short for the first, that of a renewal while they continue. */
  #waitToAnnounce(model: string): number {
    if (this.#announced.has(model)) return renewMs.sated;
    if (this.#isAlone(model) || !this.#deps.capacity.yieldsTo(model)) return Number.POSITIVE_INFINITY;
    return this.#hasFailed ? renewMs.hungry : renewMs.changed;
  }

  #waitForSlots(model: string): number {
    const wants = this.#slotsWanted(model);
    if (this.#isAlone(model)) return wants > 0 ? saveMs : Number.POSITIVE_INFINITY;
    const leased = this.#leased.get(model);
    if (leased?.isWanted && leased.slots > this.#slotsToKeep(model, leased)) return renewMs.changed;
    if (wants === 0) return this.#hasBlockedLines(model) ? renewMs.sated : Number.POSITIVE_INFINITY;
    if (!leased) return this.#hasFailed ? renewMs.hungry : 0;
    if (leased.isOwed) return renewMs.owed;
    // Lines have to give way soon after a peer announces interactive requests.
    if (leased.lines >= wants)
      return this.#deps.capacity.yieldsTo(model) === null ? renewMs.sated : renewMs.hungry;
    return leased.lines < leased.wants ? renewMs.hungry : renewMs.changed;
  }

  /** Slots to keep until the next grant. */
  #slotsToKeep(model: string, leased: Leased | undefined): number {
    return Math.max(
      this.#deps.chunks.inFlight(model),
      Math.min(leased?.lines ?? 0, this.#slotsWanted(model)),
    );
  }

  /** Slots wanted: none of an unavailable model, which each process probes for itself. */
  #slotsWanted(model: string): number {
    const { chunks, capacity, limit } = this.#deps;
    if (capacity.waiting(model)) return 0;
    return Math.max(0, Math.min(limit(model), chunks.unsent(model) + chunks.inFlight(model)));
  }

  /** True if lines wait for an unavailable model, so that the processes exchange open breakers. */
  #hasBlockedLines(model: string): boolean {
    const { chunks, capacity } = this.#deps;
    return capacity.waiting(model) !== null && chunks.unsent(model) > 0;
  }

  #schedule(at: number): void {
    // Every line calls `requestIfDue`, and most calls find the same time.
    if (at === this.#dueAt) return;
    const { clock } = this.#deps;
    this.#timer?.cancel();
    this.#dueAt = at;
    this.#timer = clock.after(at - clock.monotonic(), () => {
      this.#dueAt = null;
      this.requestIfDue();
    });
  }

  async #request(models: readonly string[]): Promise<void> {
    const { store, worker, clock, time, log, onRoom } = this.#deps;
    const requests = this.#toRequests(models);
    this.#isRequesting = true;
    this.#requestedAt = clock.monotonic();
    // A first request that hangs delays lines no longer than a lease lasts.
    if (this.#leased.size === 0) this.#lapseIn(slotLeaseMs);
    try {
      const shares = await store.workers.leaseSlots(worker, requests, time.now());
      this.#hasFailed = false;
      for (const model of this.#leased.keys()) if (!(model in requests)) this.#leased.delete(model);
      for (const [model, share] of Object.entries(shares)) this.#apply(model, requests[model]!, share);
      this.#lapseIn(this.#requestedAt + slotLeaseMs - clock.monotonic());
    } catch (error) {
      this.#hasFailed = true;
      log.debug({ err: error }, 'slots could not be leased');
    } finally {
      this.#isRequesting = false;
    }
    if (this.#stopped) return;
    onRoom();
    this.requestIfDue();
  }

  #toRequests(models: readonly string[]): Record<string, SlotLeaseRequest> {
    const { capacity } = this.#deps;
    const requests: Record<string, SlotLeaseRequest> = {};
    for (const model of models) {
      const limit = this.#deps.limit(model);
      const discovered = capacity.discoveredSlots(model);
      if (this.#isAlone(model)) {
        const loaded = this.#loaded.has(model) && discovered;
        requests[model] = { limit, wants: 0, inFlight: 0, ...(loaded && { discovered: loaded }) };
        continue;
      }
      const inFlight = this.#slotsToKeep(model, this.#leased.get(model));
      const wants = this.#slotsWanted(model);
      const openBreakers = capacity.openBreakers(model);
      const interactive = capacity.yieldsTo(model) ?? 0;
      const hasInteractiveNews = interactive > 0 || this.#announced.has(model);
      if (wants > 0 || this.#leased.has(model) || this.#hasBlockedLines(model) || hasInteractiveNews)
        requests[model] = {
          limit,
          wants,
          inFlight,
          ...(interactive > 0 && { interactive }),
          ...(discovered && { discovered }),
          ...(openBreakers && { openBreakers }),
        };
    }
    return requests;
  }

  #apply(model: string, { wants, inFlight, interactive = 0 }: SlotLeaseRequest, share: LeasedShare): void {
    const { capacity } = this.#deps;
    const { lines, isOwed, isWanted } = share;
    capacity.lease(model, share);
    if (interactive > 0) this.#announced.add(model);
    else this.#announced.delete(model);
    if (this.#isAlone(model)) this.#loaded.add(model);
    if (wants + inFlight > 0)
      this.#leased.set(model, { lines, isOwed, isWanted, wants, slots: Math.max(lines, inFlight) });
    else {
      this.#leased.delete(model);
      // No slots are in use, and the next line requests some first.
      capacity.lease(model, null);
    }
  }

  /** Ends the leases after `ms` unless they are renewed, counted from the request as in the database. */
  #lapseIn(ms: number): void {
    this.#lapseTimer?.cancel();
    if (ms <= 0) this.#lapse();
    else if (!this.#stopped) this.#lapseTimer = this.#deps.clock.after(ms, () => this.#lapse());
  }

  #lapse(): void {
    const { capacity, onRoom } = this.#deps;
    // Without leases and requests, a lapse is no failure.
    if (this.#leased.size === 0 && !this.#isRequesting) return;
    for (const model of this.#leased.keys()) capacity.lease(model, null);
    this.#leased.clear();
    this.#hasFailed = true;
    onRoom();
  }
}

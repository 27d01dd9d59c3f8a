import type { Clock, Timer } from '../../base/clock.ts';
import type { Log } from '../../base/log.ts';
import { type SlotAsk, slotLeaseMs, type SlotShare } from '../../core/slot-leases.ts';
import type { Generate } from '../../generate/generate.ts';
import type { Store } from '../../store/store.ts';
import type { StoreTime } from '../../base/store-time.ts';
import type { HeldChunks } from '../hand/held-chunks.ts';

/** How often leases are renewed, and asked for again where they do not do. */
const renewMs = { sated: 1_000, hungry: 250 } as const;
/** How often the slots that a process found alone are written down. */
const rememberMs = 15_000;

export interface SlotLeasesParts {
  store: { workers: Pick<Store['workers'], 'leaseSlots'> };
  generate: Pick<Generate, 'catalog' | 'closed' | 'contended' | 'found' | 'lease' | 'waiting'>;
  /** How many lines of a model all processes together may have in flight. */
  limit: (model: string) => number;
  held: Pick<HeldChunks, 'unsent' | 'inFlight'>;
  worker: string;
  clock: Clock;
  time: StoreTime;
  log: Log;
  /** More may be sent than before. */
  onRoom: () => void;
}

/**
 * Slots of servers that several processes ask: each leases as many as it has work for, for a second or two, and gives back
 * what it does not use. With it goes what each found out of those servers. Who is alone with a model only writes down
 * what slots it found, and reads that when it starts. Without the database each goes on with what it has until that lapses,
 * and then with its share.
 */
export class SlotLeases {
  #parts: SlotLeasesParts;
  /** By model, how many lines may be in flight. */
  #leased = new Map<string, number>();
  /** What of its servers was written down last, by model. */
  #remembered = new Map<string, string>();
  #rememberedAt = Number.NEGATIVE_INFINITY;
  #asking = false;
  #askedAt = Number.NEGATIVE_INFINITY;
  #failed = false;
  #timer: Timer | null = null;
  /** Fires when what is leased runs out. */
  #end: Timer | null = null;
  #stopped = false;

  constructor(parts: SlotLeasesParts) {
    this.#parts = parts;
  }

  stop(): void {
    this.#stopped = true;
    this.#timer?.cancel();
    this.#end?.cancel();
  }

  /** Lines came into hand or back: asks at once where nothing is leased yet, else when it is time. */
  look(): void {
    const models = this.#parts.generate.contended();
    this.#remember(models);
    if (this.#asking || this.#stopped || (models.length === 0 && this.#leased.size === 0)) return;
    const waits = models.map((model) => this.#wait(model));
    const wait = Math.min(...waits, this.#leased.size > 0 ? renewMs.sated : Number.POSITIVE_INFINITY);
    if (wait === Number.POSITIVE_INFINITY) return;
    const left = this.#askedAt + wait - this.#parts.clock.monotonic();
    if (left <= 0) void this.#ask(models);
    else this.#schedule(left);
  }

  /** How long after it was asked last a model is asked for again. */
  #wait(model: string): number {
    const wants = this.#wants(model);
    if (wants === 0) return this.#isClosed(model) ? renewMs.sated : Number.POSITIVE_INFINITY;
    const leased = this.#leased.get(model);
    if (leased === undefined) return this.#failed ? renewMs.hungry : 0;
    return leased < wants ? renewMs.hungry : renewMs.sated;
  }

  /** Servers that take nothing are tried by each process for itself. */
  #wants(model: string): number {
    const { held, generate, limit } = this.#parts;
    if (generate.waiting(model)) return 0;
    return Math.max(0, Math.min(limit(model), held.unsent(model) + held.inFlight(model)));
  }

  /** Lines wait for its servers: processes tell each other of those. */
  #isClosed(model: string): boolean {
    const { held, generate } = this.#parts;
    return generate.waiting(model) !== null && held.unsent(model) > 0;
  }

  /** Of models that nobody else asks. */
  #remember(contended: readonly string[]): void {
    const { generate, clock, store, worker, time, log, held } = this.#parts;
    if (clock.monotonic() - this.#rememberedAt < rememberMs) return;
    const alone: Record<string, SlotAsk> = {};
    const texts: [string, string][] = [];
    for (const { id } of generate.catalog.list()) {
      const found = generate.found(id);
      if (!found || contended.includes(id) || held.unsent(id) + held.inFlight(id) === 0) continue;
      const text = JSON.stringify(found);
      const before = this.#remembered.get(id);
      if (before === text) continue;
      texts.push([id, text]);
      alone[id] = { limit: this.#parts.limit(id), wants: 0, inFlight: 0, ...(before && { found }) };
    }
    if (Object.keys(alone).length === 0) return;
    this.#rememberedAt = clock.monotonic();
    void store.workers
      .leaseSlots(worker, alone, time.now())
      .then((shares) => {
        for (const [id, text] of texts) this.#remembered.set(id, text);
        for (const [model, share] of Object.entries(shares)) {
          if (alone[model]!.found) continue;
          generate.lease(model, share);
          generate.lease(model, null);
        }
      })
      .catch((error: unknown) => log.debug({ err: error }, 'found slots could not be written down'));
  }

  #schedule(ms: number): void {
    this.#timer?.cancel();
    this.#timer = this.#parts.clock.after(ms, () => this.look());
  }

  async #ask(models: readonly string[]): Promise<void> {
    const { store, worker, clock, time, log, onRoom } = this.#parts;
    const asks = this.#asksFor(models);
    this.#asking = true;
    this.#askedAt = clock.monotonic();
    this.#failed = false;
    try {
      const shares = await store.workers.leaseSlots(worker, asks, time.now());
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

  #asksFor(models: readonly string[]): Record<string, SlotAsk> {
    const { held, generate } = this.#parts;
    const asks: Record<string, SlotAsk> = {};
    for (const model of models) {
      const limit = this.#parts.limit(model);
      const inFlight = held.inFlight(model);
      const wants = this.#wants(model);
      const found = generate.found(model);
      const closed = generate.closed(model);
      if (wants > 0 || this.#leased.has(model) || this.#isClosed(model))
        asks[model] = { limit, wants, inFlight, ...(found && { found }), ...(closed && { closed }) };
    }
    return asks;
  }

  #learn(model: string, { wants, inFlight }: SlotAsk, share: SlotShare): void {
    if (wants === 0 && inFlight === 0) this.#leased.delete(model);
    else this.#leased.set(model, share.lines);
    this.#parts.generate.lease(model, share);
  }

  /** Unless it is renewed before; counted from when it was asked for, as the database does, however long the answer took. */
  #lapseIn(ms: number): void {
    this.#end?.cancel();
    if (ms <= 0) this.#lapse();
    else if (!this.#stopped) this.#end = this.#parts.clock.after(ms, () => this.#lapse());
  }

  #lapse(): void {
    const { generate, onRoom } = this.#parts;
    for (const model of this.#leased.keys()) generate.lease(model, null);
    this.#leased.clear();
    onRoom();
  }
}

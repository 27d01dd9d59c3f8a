import type { Clock } from '../base/clock.ts';
import type { WaitingCause } from '../core/waiting.ts';
import type { Store } from '../store/store.ts';
import type { StoreTime } from '../base/store-time.ts';
import type { Peers } from '../inference/peers.ts';

/** How often they are looked for, at most and at least. */
const look = { mostMs: 60_000, leastMs: 1_000 } as const;

export interface MissingModelsDeps {
  store: { workers: Pick<Store['workers'], 'missingModels'> };
  peers: Pick<Peers, 'serves'>;
  clock: Clock;
  time: StoreTime;
  /** A model that nobody has served for so long is lost. */
  lostAfterMs: number;
}

/**
 * Models of open batches that no process serves. A configuration that changes from process to process, and a restart, take
 * them away for a while: only after a grace, which the database counts for all, do their lines end as errors.
 */
export class MissingModels {
  #deps: MissingModelsDeps;
  #lookMs: number;
  #lookedAt = Number.NEGATIVE_INFINITY;
  #since = new Map<string, number>();
  /** Those that were asked for before the first look at them. */
  #noticed = new Map<string, number>();

  constructor(deps: MissingModelsDeps) {
    this.#deps = deps;
    this.#lookMs = Math.max(look.leastMs, Math.min(look.mostMs, deps.lostAfterMs / 4));
  }

  /** The other processes alive told what they serve. What is served again has its whole grace when it goes the next time. */
  onPeersUpdated(): void {
    for (const model of this.#since.keys()) if (!this.#isMissing(model)) this.#since.delete(model);
  }

  /** Asks the database, now and then. */
  async refresh(): Promise<void> {
    const { store, clock, time } = this.#deps;
    const now = clock.monotonic();
    if (now - this.#lookedAt < this.#lookMs) return;
    this.#lookedAt = now;
    const found = await store.workers.missingModels(time.now());
    // Of those that are lost the last lines may be in hand.
    const lost = this.lost.map((model) => [model, this.#since.get(model) ?? 0] as const);
    this.#since = new Map([...lost, ...found.map(({ model, since }) => [model, since] as const)]);
    this.#noticed.clear();
  }

  /** Those whose lines end as errors. */
  get lost(): string[] {
    return this.#since.size === 0 ? [] : [...this.#since.keys()].filter((model) => this.isLost(model));
  }

  isLost(model: string): boolean {
    const since = this.#since.get(model);
    if (since === undefined || !this.#isMissing(model)) return false;
    return this.#deps.time.now() - since >= this.#deps.lostAfterMs;
  }

  /** Why lines of a model wait that nobody serves; null while somebody does. */
  waiting(model: string): WaitingCause | null {
    if (!this.#isMissing(model)) return null;
    const since = this.#since.get(model) ?? this.#noticed.get(model) ?? this.#deps.time.now();
    this.#noticed.set(model, since);
    const message = `No server of this installation is configured with the model '${model}' at present.`;
    return { scope: 'model', code: 'model_not_found', message, since };
  }

  #isMissing(model: string): boolean {
    return !this.#deps.peers.serves(model);
  }
}

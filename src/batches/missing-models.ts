import type { Clock } from '../base/clock.ts';
import type { WaitingCause } from '../core/waiting.ts';
import type { Store } from '../store/store.ts';
import type { StoreTime } from '../base/store-time.ts';
import type { Peers } from '../inference/peers.ts';

const refreshMs = { min: 1_000, max: 60_000 } as const;

export interface MissingModelsDeps {
  store: { workers: Pick<Store['workers'], 'missingModels'> };
  peers: Pick<Peers, 'runs' | 'hasRunner'>;
  clock: Clock;
  time: StoreTime;
  /** A model that no process has served for this long is lost. */
  lostAfterMs: number;
}

/**
 * Models of open batches whose lines no process runs. A restart or a rolling configuration change removes them for a while, so their
 * lines fail only after a grace period, which the database counts for all processes.
 */
export class MissingModels {
  #deps: MissingModelsDeps;
  #refreshMs: number;
  #refreshedAt = Number.NEGATIVE_INFINITY;
  #since = new Map<string, number>();
  /** Models requested before the first refresh. */
  #noticed = new Map<string, number>();
  constructor(deps: MissingModelsDeps) {
    this.#deps = deps;
    this.#refreshMs = Math.max(refreshMs.min, Math.min(refreshMs.max, deps.lostAfterMs / 4));
  }

  /** Forgets models that are served again: the next time, they get the whole grace period. */
  onPeersUpdated(): void {
    for (const model of this.#since.keys()) if (!this.#isMissing(model)) this.#since.delete(model);
  }

  /** Reads the missing models from the database, unless that was done recently. */
  async refresh(): Promise<void> {
    const { store, clock, time } = this.#deps;
    const now = clock.monotonic();
    if (now - this.#refreshedAt < this.#refreshMs) return;
    this.#refreshedAt = now;
    const missing = await store.workers.missingModels(time.now());
    // The last lines of lost models may be claimed here.
    const lost = this.lost.map((model) => [model, this.#since.get(model) ?? 0] as const);
    this.#since = new Map([...lost, ...missing.map(({ model, since }) => [model, since] as const)]);
    this.#noticed.clear();
  }

  /** Models whose lines fail. */
  get lost(): string[] {
    return this.#since.size === 0 ? [] : [...this.#since.keys()].filter((model) => this.isLost(model));
  }

  isLost(model: string): boolean {
    const since = this.#since.get(model);
    if (since === undefined || !this.#isMissing(model)) return false;
    return this.#deps.time.now() - since >= this.#deps.lostAfterMs;
  }

  /** Reason why lines of a model wait; null if some process runs them. */
  waiting(model: string): WaitingCause | null {
    if (!this.#isMissing(model)) return null;
    const since = this.#since.get(model) ?? this.#noticed.get(model) ?? this.#deps.time.now();
    this.#noticed.set(model, since);
    const message = this.#deps.peers.hasRunner
      ? `No server of this installation is configured with the model '${model}' at present.`
      : 'No process runs batches at present: all of this installation have the role api.';
    return { scope: 'model', code: 'model_not_found', message, since };
  }

  #isMissing(model: string): boolean {
    return !this.#deps.peers.runs(model);
  }
}

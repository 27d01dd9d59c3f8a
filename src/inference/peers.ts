import type { Clock } from '../base/clock.ts';
import { type Catalog, createCatalog, type SharedCatalog, type Model } from '../core/model.ts';
import type { WaitingCause } from '../core/waiting.ts';
import type { WorkerLoad } from '../core/worker-load.ts';

/** The models of a process that is silent are held for so long: it may only be starting anew. */
const heldMs = 600_000;
/** No more often the others are asked what they serve, for models that nobody may know. */
const hearMs = 1_000;

type FetchLoads = () => Promise<readonly WorkerLoad[]>;

/**
 * What the other processes on the database told last, beside what this one serves: the one place that knows of them. Whatever
 * of their models a request is sent to, a batch may be created here for each, at its price and by those who may use it.
 */
export class Peers implements SharedCatalog {
  #own: Catalog;
  #clock: Pick<Clock, 'monotonic'>;
  /** The others alive. */
  #others: readonly WorkerLoad[] = [];
  #told = new Map<string, { model: Model; at: number }>();
  #models = createCatalog([]);
  #listeners: (() => void)[] = [];
  /** Nobody can be asked where nobody else can be. */
  #ask: FetchLoads | null = null;
  #heardAt = Number.NEGATIVE_INFINITY;
  #hearing: Promise<void> | null = null;

  constructor(own: Catalog, clock: Pick<Clock, 'monotonic'>) {
    this.#own = own;
    this.#clock = clock;
  }

  /** What the others alive tell, all of them. */
  update(others: readonly WorkerLoad[]): void {
    const at = this.#clock.monotonic();
    this.#others = others;
    // What was told last goes before what others of that name were.
    for (const model of others.flatMap(({ models = [] }) => models)) {
      this.#told.delete(model.id);
      this.#told.set(model.id, { model, at });
    }
    for (const [id, told] of this.#told) if (at - told.at > heldMs) this.#told.delete(id);
    this.#models = createCatalog([...this.#told.values()].map(({ model }) => model));
    for (const listener of this.#listeners) listener();
  }

  /** Called whenever something was told. */
  onUpdate(listener: () => void): void {
    this.#listeners.push(listener);
  }

  /** How the others are asked between their heartbeats. */
  refreshBy(ask: FetchLoads): void {
    this.#ask = ask;
  }

  async refresh(): Promise<void> {
    if (!this.#ask || this.#clock.monotonic() - this.#heardAt < hearMs) return;
    this.#hearing ??= this.#ask()
      .then((others) => {
        this.#heardAt = this.#clock.monotonic();
        this.update(others);
      })
      .finally(() => (this.#hearing = null));
    await this.#hearing;
  }

  /** What this process serves goes before what others said. */
  find(name: string): Model | undefined {
    return this.#own.find(name) ?? this.#models.find(name);
  }

  /** Of all processes: what this one serves, then what only others do. */
  list(): readonly Model[] {
    const elsewhere = this.#models
      .list()
      .filter(({ id }) => !this.#own.find(id) && this.isServedElsewhere(id));
    return elsewhere.length === 0 ? this.#own.list() : [...this.#own.list(), ...elsewhere];
  }

  idOf = (name: string): string => this.find(name)?.id ?? name;

  /** How many of the others share the servers of a model, and their interactive calls in flight there. */
  loadElsewhere(id: string): { processes: number; interactive: number } {
    const sharing = this.#serving(id);
    const interactive = sharing.reduce((sum, other) => sum + (other.interactive[id] ?? 0), 0);
    return { processes: sharing.length, interactive };
  }

  /** Whether somebody serves a model of this name. */
  serves(name: string): boolean {
    return this.#own.find(name) !== undefined || this.isServedElsewhere(name);
  }

  isServedElsewhere(name: string): boolean {
    return this.#serving(name).length > 0;
  }

  /** Whether one of the others can send requests of a model at present. */
  isAvailableElsewhere(name: string): boolean {
    return this.#serving(name).some(({ waits = {} }) => !Object.hasOwn(waits, name));
  }

  /** Why none of the others that serve a model sends requests of it; null where one does, or none serves it. */
  waitingElsewhere(name: string): WaitingCause | null {
    const [{ waits = {} } = {}] = this.#serving(name);
    return Object.hasOwn(waits, name) && !this.isAvailableElsewhere(name) ? waits[name]! : null;
  }

  /** Who does not say what he serves may serve any. */
  #serving(name: string): WorkerLoad[] {
    return this.#others.filter(({ serves }) => serves?.includes(name) ?? true);
  }
}

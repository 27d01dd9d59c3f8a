import type { Clock } from '../base/clock.ts';
import { type Catalog, createCatalog, type Model } from '../core/model.ts';

/** What another process told is held for so long: it may only be starting anew. */
const heldMs = 600_000;

/**
 * The models of all processes on the database: whatever of them a request is sent to, a batch may be created for each, at
 * its price and by those who may use it. What this process says itself goes before what others said.
 */
export class FleetModels implements Pick<Catalog, 'find' | 'idOf'> {
  #own: Catalog;
  #clock: Pick<Clock, 'monotonic'>;
  #told = new Map<string, { model: Model; at: number }>();
  #others = createCatalog([]);

  constructor(own: Catalog, clock: Pick<Clock, 'monotonic'>) {
    this.#own = own;
    this.#clock = clock;
  }

  find(name: string): Model | undefined {
    return this.#own.find(name) ?? this.#others.find(name);
  }

  idOf = (name: string): string => this.find(name)?.id ?? name;

  /** What the other processes alive say that they serve. */
  learn(models: readonly Model[]): void {
    const at = this.#clock.monotonic();
    // What was told last goes before what others of that name were.
    for (const model of models) {
      this.#told.delete(model.id);
      this.#told.set(model.id, { model, at });
    }
    for (const [id, told] of this.#told) if (at - told.at > heldMs) this.#told.delete(id);
    this.#others = createCatalog([...this.#told.values()].map(({ model }) => model));
  }
}

import type { Clock } from '../base/clock.ts';
import { ApiError } from '../core/errors.ts';
import { type Catalog, createCatalog, type Model } from '../core/model.ts';
import type { Pool } from '../engines/engines.ts';
import { Admission } from './admission.ts';
import { createCountPrompt } from './count-tokens.ts';
import { Fleet } from './fleet.ts';
import type { ServedModel } from './inference.ts';

/** A model with all that serves it in this process. */
export interface Lane extends ServedModel {
  admission: Admission;
  countPrompt: ReturnType<typeof createCountPrompt>;
}

/** The models that are served, which may be replaced while requests run. It starts and stops their pools. */
export class Lanes {
  readonly catalog: Catalog = {
    list: () => this.#current.list(),
    find: (name) => this.#current.find(name),
    idOf: (name) => this.#current.idOf(name),
  };
  readonly fleet: Fleet;
  #clock: Clock;
  #initial: readonly ServedModel[];
  #current: Catalog = createCatalog([]);
  #lanes = new Map<string, Lane>();
  /** Those in use, and those that end what they have in flight. */
  #pools = new Set<Pool>();
  #listeners: (() => void)[] = [];
  #contended: ReadonlySet<string> = new Set();
  #isStopped = false;

  constructor(models: readonly ServedModel[], clock: Clock) {
    this.#clock = clock;
    this.fleet = new Fleet(this.catalog, clock);
    this.fleet.onLearn(() => this.#share());
    this.#initial = models;
    this.#serve(models);
  }

  get(modelId: string): Lane | undefined {
    return this.#lanes.get(modelId);
  }

  /** @throws ApiError `model_not_found` */
  of(modelId: string): Lane {
    const lane = this.#lanes.get(modelId);
    if (lane) return lane;
    throw new ApiError('model_not_found', `The model '${modelId}' does not exist.`, { param: 'model' });
  }

  all(): Iterable<[string, Lane]> {
    return this.#lanes;
  }

  onRoom(listener: () => void): void {
    this.#listeners.push(listener);
  }

  get contended(): ReadonlySet<string> {
    return this.#contended;
  }

  async start(): Promise<void> {
    await Promise.all(this.#initial.map(({ pool }) => pool.start()));
  }

  async stop(): Promise<void> {
    this.#isStopped = true;
    await Promise.all([...this.#pools].map((pool) => pool.stop()));
  }

  async replace(models: readonly ServedModel[]): Promise<void> {
    const added = models.map(({ pool }) => pool).filter((pool) => !this.#pools.has(pool));
    try {
      await Promise.all(added.map((pool) => pool.start()));
      if (this.#isStopped) throw new ApiError('shutting_down', 'The engine is being stopped.');
    } catch (error) {
      await Promise.allSettled(added.map((pool) => pool.stop()));
      throw error;
    }
    const before = [...this.#lanes.values()];
    this.#serve(models);
    this.#share();
    const kept = new Set(models.map(({ pool }) => pool));
    for (const lane of before) if (!kept.has(lane.pool)) void this.#retire(lane);
    this.#tellRoom();
  }

  #serve(models: readonly ServedModel[]): void {
    const known = new Map([...this.#lanes.values()].map((lane) => [lane.pool, lane]));
    this.#lanes = new Map(
      models.map(({ model, pool }) => {
        const { admission, countPrompt } = known.get(pool) ?? this.#open(pool);
        return [model.id, { model, pool, admission, countPrompt }];
      }),
    );
    this.#contended = new Set(models.filter(({ pool }) => pool.isShared).map(({ model }) => model.id));
    this.#current = createCatalog(models.map(({ model }: { model: Model }) => model));
  }

  #share(): void {
    for (const [id, { pool, admission }] of this.#lanes) {
      if (!pool.isShared) continue;
      const { processes, interactive } = this.fleet.sharing(id);
      admission.setOthers(interactive, processes + 1);
    }
  }

  #open(pool: Pool): Pick<Lane, 'admission' | 'countPrompt'> {
    this.#pools.add(pool);
    pool.onRoom(() => this.#tellRoom());
    return { admission: new Admission(pool, this.#clock), countPrompt: createCountPrompt(pool) };
  }

  async #retire({ pool, admission }: Lane): Promise<void> {
    await admission.whenIdle();
    if (this.#isStopped) return;
    await pool.stop();
    this.#pools.delete(pool);
  }

  #tellRoom(): void {
    for (const listener of this.#listeners) listener();
  }
}

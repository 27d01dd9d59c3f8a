import type { Clock } from '../base/clock.ts';
import { ApiError } from '../core/errors.ts';
import { type Catalog, createCatalog, type Model } from '../core/model.ts';
import type { Pool } from '../engines/engines.ts';
import { Admission, type BatchFloor } from './admission.ts';
import { createCountPrompt } from './count-tokens.ts';
import { Peers } from './peers.ts';
import { replicaId } from './replica-id.ts';

export interface PooledModel {
  model: Model;
  pool: Pool;
}

/** A model with everything that serves it in this process. */
export interface ServedModel extends PooledModel {
  admission: Admission;
  countPrompt: ReturnType<typeof createCountPrompt>;
}

export interface ServedModelsOptions {
  /** Slots of batches under interactive load; `defaultFloor` if absent. */
  batchFloor?: BatchFloor;
  /** False for a process that claims no batch lines. */
  runsBatches?: boolean;
}

/** Registry of the models that this process serves. It starts and stops their pools, and can replace them while requests run. */
export class ServedModels {
  readonly catalog: Catalog = {
    list: () => this.#current.list(),
    find: (name) => this.#current.find(name),
    idOf: (name) => this.#current.idOf(name),
  };
  readonly peers: Peers;
  #clock: Clock;
  #floor: BatchFloor | undefined;
  #initial: readonly PooledModel[];
  #current: Catalog = createCatalog([]);
  #served = new Map<string, ServedModel>();
  /** Pools in use, and retired pools that still have requests in flight. */
  #pools = new Set<Pool>();
  #listeners: (() => void)[] = [];
  #shared: ReadonlySet<string> = new Set();
  /** Ids of the replicas that an operator drains. */
  #drained: ReadonlySet<string> = new Set();
  /** Caps of an operator by replica id. */
  #caps: ReadonlyMap<string, number> = new Map();
  #isStopped = false;

  constructor(
    models: readonly PooledModel[],
    clock: Clock,
    { batchFloor, runsBatches }: ServedModelsOptions = {},
  ) {
    this.#clock = clock;
    this.#floor = batchFloor;
    this.peers = new Peers(this.catalog, clock, runsBatches);
    this.peers.onUpdate(() => this.#updateShares());
    this.#initial = models;
    this.#serve(models);
  }

  find(modelId: string): ServedModel | undefined {
    return this.#served.get(modelId);
  }

  /** @throws ApiError `model_not_found` */
  require(modelId: string): ServedModel {
    const served = this.#served.get(modelId);
    if (served) return served;
    throw new ApiError('model_not_found', `The model '${modelId}' does not exist.`, { param: 'model' });
  }

  all(): Iterable<[string, ServedModel]> {
    return this.#served;
  }

  /** Calls `listener` whenever a model may accept more requests. */
  onRoom(listener: () => void): void {
    this.#listeners.push(listener);
  }

  /** Ids of the models whose replicas other processes may use too. */
  get shared(): ReadonlySet<string> {
    return this.#shared;
  }

  /** Sends no new requests to these replicas, now and after a change of the models. */
  drain(replicaIds: ReadonlySet<string>): void {
    this.#drained = replicaIds;
    this.#applyControls();
  }

  /** Keeps the requests in flight of these replicas within the caps, now and after a change of the models. */
  cap(caps: ReadonlyMap<string, number>): void {
    this.#caps = caps;
    this.#applyControls();
  }

  #applyControls(): void {
    for (const [id, { pool }] of this.#served) {
      pool.drain((name) => this.#drained.has(replicaId(id, name)));
      pool.cap((name) => this.#caps.get(replicaId(id, name)) ?? null);
    }
  }

  async start(): Promise<void> {
    await Promise.all(this.#initial.map(({ pool }) => pool.start()));
  }

  async stop(): Promise<void> {
    this.#isStopped = true;
    await Promise.all([...this.#pools].map((pool) => pool.stop()));
  }

  async replace(models: readonly PooledModel[]): Promise<void> {
    const added = models.map(({ pool }) => pool).filter((pool) => !this.#pools.has(pool));
    try {
      await Promise.all(added.map((pool) => pool.start()));
      if (this.#isStopped) throw new ApiError('shutting_down', 'The engine is being stopped.');
    } catch (error) {
      await Promise.allSettled(added.map((pool) => pool.stop()));
      throw error;
    }
    const before = [...this.#served.values()];
    this.#serve(models);
    this.#updateShares();
    const listed = new Set(models.map(({ pool }) => pool));
    for (const served of before) if (!listed.has(served.pool)) void this.#retire(served);
    this.#notifyRoom();
  }

  #serve(models: readonly PooledModel[]): void {
    const before = new Map([...this.#served.values()].map((served) => [served.pool, served]));
    this.#served = new Map(
      models.map(({ model, pool }) => {
        const { admission, countPrompt } = before.get(pool) ?? this.#open(pool);
        return [model.id, { model, pool, admission, countPrompt }];
      }),
    );
    this.#shared = new Set(models.filter(({ pool }) => pool.isShared).map(({ model }) => model.id));
    this.#current = createCatalog(models.map(({ model }) => model));
    this.#applyControls();
  }

  #updateShares(): void {
    for (const [id, { pool, admission }] of this.#served) {
      if (!pool.isShared) continue;
      const { processes, interactive } = this.peers.loadElsewhere(id);
      admission.setPeers(interactive, processes + 1);
    }
  }

  #open(pool: Pool): Pick<ServedModel, 'admission' | 'countPrompt'> {
    this.#pools.add(pool);
    pool.onRoom(() => this.#notifyRoom());
    const tellPeers = () => pool.isShared && pool.linesGiveWay && this.#notifyRoom();
    const admission = new Admission(pool, this.#clock, this.#floor, tellPeers);
    pool.guaranteeBatches(() => admission.guaranteed);
    return { admission, countPrompt: createCountPrompt(pool) };
  }

  async #retire({ pool, admission }: ServedModel): Promise<void> {
    await admission.whenIdle();
    if (this.#isStopped) return;
    await pool.stop();
    this.#pools.delete(pool);
  }

  #notifyRoom(): void {
    for (const listener of this.#listeners) listener();
  }
}

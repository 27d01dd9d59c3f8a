import type { Clock } from '../base/clock.ts';
import { type Catalog, createCatalog, type SharedCatalog, type Model } from '../core/model.ts';
import type { ReplicaReport } from '../core/replica-state.ts';
import type { WaitingCause } from '../core/waiting.ts';
import { runsBatches as isRunner } from '../core/role.ts';
import type { LineRate, WorkerLoad } from '../core/worker-load.ts';

/** Models of a silent process are remembered for this long: it may be restarting. */
const rememberMs = 600_000;
/** Minimum interval between two refreshes for unknown models. */
const refreshMs = 1_000;

type FetchLoads = () => Promise<readonly WorkerLoad[]>;

/**
 * Models and load last reported by the other processes on this database, merged with our own models. A batch can be created
 * here for every model of the installation.
 */
export class Peers implements SharedCatalog {
  #own: Catalog;
  #runsBatches: boolean;
  #clock: Pick<Clock, 'monotonic'>;
  /** Loads of the living peers. */
  #peers: readonly WorkerLoad[] = [];
  #reported = new Map<string, { model: Model; at: number }>();
  #models = createCatalog([]);
  #listeners: (() => void)[] = [];
  /** Null if there can be no peers. */
  #fetch: FetchLoads | null = null;
  #refreshedAt = Number.NEGATIVE_INFINITY;
  #refreshing: Promise<void> | null = null;

  /** @param runsBatches false if this process claims no batch lines */
  constructor(own: Catalog, clock: Pick<Clock, 'monotonic'>, runsBatches = true) {
    this.#own = own;
    this.#runsBatches = runsBatches;
    this.#clock = clock;
  }

  /** @param peers loads of all living peers */
  update(peers: readonly WorkerLoad[]): void {
    const at = this.#clock.monotonic();
    this.#peers = peers;
    // The last report of a name takes precedence.
    for (const model of peers.flatMap(({ models = [] }) => models)) {
      this.#reported.delete(model.id);
      this.#reported.set(model.id, { model, at });
    }
    for (const [id, report] of this.#reported) if (at - report.at > rememberMs) this.#reported.delete(id);
    this.#models = createCatalog([...this.#reported.values()].map(({ model }) => model));
    for (const listener of this.#listeners) listener();
  }

  onUpdate(listener: () => void): void {
    this.#listeners.push(listener);
  }

  /** Sets how loads are fetched between heartbeats. */
  refreshBy(fetch: FetchLoads): void {
    this.#fetch = fetch;
  }

  async refresh(): Promise<void> {
    if (!this.#fetch || this.#clock.monotonic() - this.#refreshedAt < refreshMs) return;
    this.#refreshing ??= this.#fetch()
      .then((peers) => {
        this.#refreshedAt = this.#clock.monotonic();
        this.update(peers);
      })
      .finally(() => (this.#refreshing = null));
    await this.#refreshing;
  }

  /** Finds a model by id or alias; our own takes precedence. */
  find(name: string): Model | undefined {
    return this.#own.find(name) ?? this.#models.find(name);
  }

  /** Models of all processes: our own, then those that only peers serve. */
  list(): readonly Model[] {
    const elsewhere = this.#models
      .list()
      .filter(({ id }) => !this.#own.find(id) && this.isServedElsewhere(id));
    return elsewhere.length === 0 ? this.#own.list() : [...this.#own.list(), ...elsewhere];
  }

  idOf = (name: string): string => this.find(name)?.id ?? name;

  /** Number of peers that run the batch lines of a model, and the interactive calls in flight of all peers. */
  loadElsewhere(id: string): { processes: number; interactive: number } {
    const interactive = this.#peers.reduce((sum, peer) => sum + (peer.interactive[id] ?? 0), 0);
    return { processes: this.#serving(id).length, interactive };
  }

  /** Measured rates of batch lines of a model in the other processes. */
  ratesElsewhere(id: string): LineRate[] {
    return this.#peers.flatMap(({ rates = {} }) => (Object.hasOwn(rates, id) ? [rates[id]!] : []));
  }

  /** Replicas as the peers see them; one of several processes occurs several times. */
  replicasElsewhere(): readonly ReplicaReport[] {
    return this.#peers.flatMap(({ replicas = [] }) => replicas);
  }

  /** True if any process serves a model of this name. */
  serves(name: string): boolean {
    return this.#own.find(name) !== undefined || this.isServedElsewhere(name);
  }

  /** True if any process runs batch lines of a model of this name. */
  runs(name: string): boolean {
    return (this.#runsBatches && this.#own.find(name) !== undefined) || this.isServedElsewhere(name);
  }

  /** True if no other process is known to live. */
  get isAlone(): boolean {
    return this.#peers.length === 0;
  }

  /** True if this process or a living peer runs batches. */
  get hasRunner(): boolean {
    return this.#runsBatches || this.hasOtherRunner;
  }

  /** True if a living peer runs batches. */
  get hasOtherRunner(): boolean {
    return this.#peers.some(({ process }) => isRunner(process?.role ?? 'all'));
  }

  /** True if a peer runs batch lines of a model. */
  isServedElsewhere(name: string): boolean {
    return this.#serving(name).length > 0;
  }

  /** True if a peer can send requests of the model now. */
  isAvailableElsewhere(name: string): boolean {
    return this.#serving(name).some(({ waits = {} }) => !Object.hasOwn(waits, name));
  }

  /** Reason why no peer sends requests of a model that it serves; null if one does, or none serves it. */
  waitingElsewhere(name: string): WaitingCause | null {
    const [{ waits = {} } = {}] = this.#serving(name);
    return Object.hasOwn(waits, name) && !this.isAvailableElsewhere(name) ? waits[name]! : null;
  }

  /** Peers that run batch lines of a model; a peer that lists no models may run any. */
  #serving(name: string): WorkerLoad[] {
    return this.#peers.filter(({ serves }) => serves?.includes(name) ?? true);
  }
}

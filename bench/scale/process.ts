import { silent } from '../../src/base/log.ts';
import { Runner, type RunnerDeps } from '../../src/batches/runner.ts';
import type { Catalog } from '../../src/core/model.ts';
import type { Capacity } from '../../src/inference/capacity.ts';
import type { LineAnswer, LineCall } from '../../src/inference/inference.ts';
import type { Store } from '../../src/store/store.ts';
import { noBudgets } from '../../test/support/no-budgets.ts';
import { noControls } from '../../test/support/no-controls.ts';
import type { SeededRandom } from '../../test/support/seeded-random.ts';
import type { ProcessTime } from '../../test/support/virtual-clock.ts';
import { storedLine } from './batches.ts';
import { SimPool } from './pool.ts';
import type { SimServer } from './servers.ts';

export interface SimProcessDeps {
  worker: string;
  processes: number;
  clock: ProcessTime;
  random: SeededRandom;
  catalog: Catalog;
  /** Servers by model. */
  servers: ReadonlyMap<string, readonly SimServer[]>;
  store: Store;
  /** Time and tokens that a line of a batch takes, drawn when it is sent. */
  draw: (batchId: string) => { ms: number; inputTokens: number; outputTokens: number };
}

const body = '{}';

/** One process: the batch engine of the server with its claims, its share of the slots, and its retries. */
export class SimProcess {
  readonly worker: string;
  readonly #runner: Runner;
  readonly #pools = new Map<string, SimPool>();
  readonly #deps: SimProcessDeps;
  #onRoom = () => {};

  constructor(deps: SimProcessDeps) {
    const { worker, processes, clock, random, catalog, servers, store } = deps;
    this.worker = worker;
    this.#deps = deps;
    for (const [model, list] of servers) {
      const pool = new SimPool(list, clock, random, () => this.#onRoom());
      pool.admission.setPeers(0, processes);
      this.#pools.set(model, pool);
    }
    const parts: Partial<RunnerDeps> = {
      worker,
      claims: true,
      store,
      clock,
      time: clock as unknown as RunnerDeps['time'],
      billingClock: clock,
      random,
      log: silent,
      catalog,
      capacity: this.#capacity(),
      inference: { runLine: (call) => this.#runLine(call), countLine: async () => undefined },
      blobs: {
        slice: async (id: string) => storedLine(id),
        slices: async (id: string, refs: readonly object[]) => {
          const line = storedLine(id);
          return refs.map(() => line);
        },
      } as unknown as RunnerDeps['blobs'],
      files: { purposes: ['batch'] } as unknown as RunnerDeps['files'],
      peers: {
        isServedElsewhere: () => true,
        isAvailableElsewhere: () => true,
      } as unknown as RunnerDeps['peers'],
      missing: { lost: [], isLost: () => false, refresh: async () => {} } as unknown as RunnerDeps['missing'],
      hours: { share: () => 1 } as unknown as RunnerDeps['hours'],
      budgets: noBudgets,
      controls: noControls,
      limits: { openBatchesPerOrg: 100, storedBytes: Infinity, lineBytes: 1_000_000 },
      holdsLeases: () => true,
      isDatabaseDown: async () => false,
      finalizer: { close: async () => {}, stop: () => {} } as unknown as RunnerDeps['finalizer'],
    };
    this.#runner = new Runner(parts as RunnerDeps);
  }

  start(): void {
    this.#runner.start();
  }

  /** Kills the process; its requests end at the servers. */
  die(): void {
    this.#deps.clock.kill();
    for (const pool of this.#pools.values()) pool.die();
  }

  #capacity(): Capacity {
    const pool = (model: string) => this.#pools.get(model)!;
    const shared = new Set(this.#pools.keys());
    return {
      room: (model) => pool(model).admission.room,
      slots: (model) => pool(model).slots,
      limit: (model) => pool(model).admission.limit,
      outcomes: (model) => pool(model).outcomes,
      waiting: () => null,
      replicas: () => [],
      isDetached: () => false,
      activeFallbacks: () => [],
      onRoom: (listener) => void (this.#onRoom = listener),
      prefixCache: () => 'none',
      interactiveLoad: () => ({}),
      sharedModels: () => shared,
      discoveredSlots: () => undefined,
      openBreakers: () => undefined,
      setAtRisk: () => {},
      yieldsTo: () => null,
      lease: (model, share) => pool(model).admission.lease(share && share.lines),
    };
  }

  async #runLine({ model, asked, prefix }: LineCall): Promise<LineAnswer> {
    const content = asked.kind === 'chat' && asked.chat.messages[0]?.content;
    if (typeof content !== 'string') throw new Error('a line of the simulation is a chat with text');
    const { ms, inputTokens, outputTokens } = this.#deps.draw(content);
    await this.#pools.get(model.id)!.run(ms, outputTokens + inputTokens / 16, prefix);
    const usage = { inputTokens, outputTokens, cachedTokens: 0, cacheWriteTokens: 0, reasoningTokens: 0 };
    return { body, usage };
  }
}

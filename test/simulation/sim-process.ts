import { StoreTime } from '../../src/base/store-time.ts';
import type { Pool } from '../../src/engines/engines.ts';
import { chatRequest } from '../support/fake-engine.ts';
import { createTestPool } from '../support/test-pool.ts';
import { createIds } from '../../src/base/ids.ts';
import { type Log, silent } from '../../src/base/log.ts';
import type { Batches } from '../../src/batches/batches.ts';
import { createBatches } from '../../src/batches/create-batches.ts';
import type { BatchesDeps } from '../../src/batches/batch-context.ts';
import { defaultLimits } from '../../src/core/batch.ts';
import { BlobError } from '../../src/core/blob-error.ts';
import { createCatalog } from '../../src/core/model.ts';
import type { Files } from '../../src/files/files.ts';
import { createVerifiedReads } from '../../src/files/verified-bytes.ts';
import { createInference } from '../../src/inference/create-inference.ts';
import { createDuties } from '../../src/operator/duties.ts';
import { type Controls, createControls } from '../../src/operator/controls.ts';
import type { Peers } from '../../src/inference/peers.ts';
import { createInlineSchemas } from '../support/inline-schemas.ts';
import { noBudgets } from '../support/no-budgets.ts';
import { noControls } from '../support/no-controls.ts';
import type { SeededRandom } from '../support/seeded-random.ts';
import type { ProcessTime } from '../support/virtual-clock.ts';
import { createEngines, modelOf } from './engines.ts';
import type { Worker } from './observer.ts';
import { offeredWindows } from './plan.ts';
import type { Plant } from './plant.ts';
import { storeThrough } from './store-view.ts';
import type { World } from './world.ts';
import { createScanGate } from '../../src/store/scan-gate.ts';

/** One server process with its clock, its engines and its batch engine. It may die between any two steps. */
export class SimProcess implements Worker {
  readonly name: string;
  readonly time: ProcessTime;
  readonly batches: Batches;
  diedAt = Number.POSITIVE_INFINITY;
  troubledAt: number;
  /** Store calls fail until then. */
  cutOffUntil = 0;
  /** Store calls stall until then; those in flight arrive afterwards. */
  silentUntil = 0;
  ready = false;
  /** Its worker ID in the store, from its first heartbeat. */
  worker = '';
  /** Time of its last wake-up from a pause. */
  awakeAt = 0;
  #world: World;
  #random: SeededRandom;
  /** Absent in worlds whose operator pauses nothing. */
  #controls: Controls | undefined;
  #duties: ReturnType<typeof createDuties>;

  constructor(name: string, world: World, plant: Plant) {
    this.name = name;
    this.#world = world;
    this.#random = world.random.fork();
    this.time = world.time.process();
    this.troubledAt = world.time.elapsed;
    const clock = this.time;
    const random = this.#random;
    const ids = createIds(clock, random);
    const maxSlowdown = world.plan.chats ? 1.3 : undefined;
    const models = createEngines(world, this).map(({ model, engine }) => ({
      model,
      pool: createTestPool(engine, { clock, random, isShared: true, maxSlowdown }),
    }));
    if (world.plan.chats) for (const { pool } of models) void this.#chat(pool);
    const { inference, capacity, catalog, peers } = createInference({
      models,
      accounts: { charge: () => {}, budgets: noBudgets, billingClock: clock },
      schemas: createInlineSchemas(clock),
      clock,
      ids,
      log: silent,
    });
    const store = storeThrough(world.database.store, (operation, args, operate) =>
      world.gate.call(this, operation, args, operate),
    );
    if (world.plan.pauses) this.#controls = createControls({ store, clock, log: silent });
    this.#duties = createDuties({ store, clock, log: silent, worker: ids.next('wrk_'), mayTake: () => true });
    const parts: BatchesDeps = {
      process: { version: '1.2.3', host: 'simulated', pid: 1 },
      scans: createScanGate(),
      store,
      blobs: world.blobs.gatedBy(() => this.#turn()),
      files: {
        requireContent: async () => {},
        index: (file) => this.#turn().then(() => world.indexOf(file)),
        read: createVerifiedReads(world.blobs.gatedBy(() => this.#turn())),
        purposes: ['batch'],
        inline: async (_orgId, text) => text,
      } as Partial<Files> as Files,
      inference: world.calls.seenThrough(this, inference),
      capacity,
      catalog,
      peers: withGone(peers),
      budgets: noBudgets,
      controls: this.#controls ?? noControls,
      clock,
      time: new StoreTime(clock),
      billingClock: clock,
      ids,
      random,
      log: traced(world, this),
      requireDisk: () => {},
      duties: this.#duties,
      limits: { openBatchesPerOrg: 100, storedBytes: Infinity, lineBytes: defaultLimits.lineBytes },
      batch: {
        resultTtlMs: 86_400_000,
        windows: offeredWindows(world.plan),
        cancelGraceMs: 2_000,
        lostModelAfterMs: 20_000,
      },
      drainMs: 5_000,
      exclusive: false,
    };
    this.batches = createBatches(plant(parts, world));
  }

  get alive(): boolean {
    return this.time.alive;
  }

  /** Starts the process, which dies on a failure; its supervisor starts another one. */
  async start(): Promise<void> {
    try {
      await this.#controls?.start();
      await this.#duties.start();
      await this.batches.start();
      this.ready = true;
      this.#world.trace.add(this.name, 'is up');
    } catch (error) {
      this.#world.trace.add(this.name, `could not start: ${String(error)}`);
      this.#world.lose(this, 1_000);
    }
  }

  kill(): void {
    if (!this.alive) return;
    this.time.kill();
    this.ready = false;
    this.diedAt = this.#world.time.elapsed;
  }

  pause(ms: number): void {
    this.time.pause(ms);
    this.awakeAt = Math.max(this.awakeAt, this.#world.time.elapsed + ms);
    this.trouble(ms);
  }

  silence(ms: number): void {
    this.silentUntil = Math.max(this.silentUntil, this.#world.time.elapsed + ms);
    this.trouble(ms);
  }

  /** Marks the process as disturbed for the next `ms`. */
  trouble(ms = 0): void {
    this.troubledAt = Math.max(this.troubledAt, this.#world.time.elapsed + ms);
  }

  sleep(ms: number): Promise<void> {
    return new Promise((resolve) => {
      this.time.after(ms, resolve);
    });
  }

  /** Sends bursts of chats to a model until the calm. */
  async #chat(pool: Pool): Promise<void> {
    const { signal } = new AbortController();
    while (this.#world.time.elapsed < this.#world.plan.calmFrom) {
      await this.sleep(this.#random.int(100, 3_000));
      const chats = Array.from({ length: this.#random.int(1, 3) }, () => {
        const content = `[[delay ${this.#random.int(20, 800)}]] chat`;
        return pool.generate(chatRequest({ messages: [{ role: 'user', content }] }), {
          signal,
          priority: 'interactive',
        });
      });
      await Promise.allSettled(chats);
    }
  }

  /** A step outside the process, which a dead process never finishes. */
  #turn(): Promise<void> {
    if (!this.alive) return new Promise(() => {});
    const { plan, time } = this.#world;
    if (time.elapsed < plan.calmFrom && this.#random.chance(plan.weather.blobs)) {
      this.trouble();
      return Promise.reject(new BlobError('unavailable', 'The disk says EIO.', 'Simulated.'));
    }
    return this.#random.chance(0.2) ? this.sleep(this.#random.int(0, 20)) : Promise.resolve();
  }
}

/** Logged errors are part of the history. */
function traced(world: World, process: SimProcess): Log {
  const error = (fields: object, message: string) => {
    const { err } = fields as { err?: unknown };
    world.trace.add(process.name, `error: ${message} ${err instanceof Error ? err.message : ''}`);
  };
  return { ...silent, error, child: () => traced(world, process) };
}

/** Adds a model that a peer once served and no process serves now. */
function withGone(peers: Peers): Peers {
  const gone = createCatalog([modelOf('gone')]);
  const known = peers.find.bind(peers);
  peers.find = (name) => known(name) ?? gone.find(name);
  return peers;
}

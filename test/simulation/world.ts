import type { Batch, Chunk, ResultStream } from '../../src/core/batch.ts';
import type { StoredFile } from '../../src/core/file.ts';
import type { InputIndex } from '../../src/files/input-index.ts';
import { createMemoryBlobs, type MemoryBlobs } from '../support/memory-blobs.ts';
import { createSeededRandom, type SeededRandom } from '../support/seeded-random.ts';
import { createVirtualTime, type VirtualTime } from '../support/virtual-clock.ts';
import { Calls } from './calls.ts';
import { Damaged } from './damage.ts';
import type { Database } from './database.ts';
import { Gate } from './gate.ts';
import { Gateway } from './gateway.ts';
import { type Input, makeInput, subjectOf } from './input.ts';
import { Observer } from './observer.ts';
import { Operator } from './operator.ts';
import { planWorld } from './plan-world.ts';
import type { Incident, Outage, Shape, Size, WorldPlan } from './plan.ts';
import { noPlant, type Plant } from './plant.ts';
import { SimProcess } from './sim-process.ts';
import { Trace } from './trace.ts';

/** Maximum time until a dead process is replaced. */
const longestDownMs = 12_000;

export interface WorldOptions {
  plant?: Plant;
  /** Random if absent. */
  shape?: Shape;
  size?: Size;
  /** Number of single requests beside the batches; none if absent. */
  singles?: number;
  /** True to record the history. */
  withTrace?: boolean;
}

/** One simulation: a database, blobs, engines, and processes that come and go. */
export class World {
  readonly random: SeededRandom;
  readonly plan: WorldPlan;
  readonly time: VirtualTime;
  readonly database: Database;
  readonly blobs: MemoryBlobs;
  readonly trace: Trace;
  readonly observer: Observer;
  readonly gate: Gate;
  readonly calls: Calls;
  readonly damaged: Damaged;
  readonly operator: Operator;
  readonly inputs: Input[];
  readonly processes: SimProcess[] = [];
  /** Outages of engines, by model. */
  readonly refusals = new Map<string, { until: number; retryAfter: number | null; how: Outage }>();
  /** Failed attempts that count, by line, and claims of its chunk. */
  readonly failures = new Map<string, number>();
  readonly claims = new Map<string, number>();
  /** Texts that a plant replaces in SQL; true once a statement had it. */
  readonly plantedTexts = new Map<string, boolean>();
  /** ID of each planned batch, once a client knows it. */
  readonly batchIds = new Map<string, string>();
  #gateways = new Map<string, Gateway>();
  #names = new Map<string, string>();
  #ids = new Map<string, string>();
  #plant: Plant;
  #born = 0;
  #replaced = new Map<object, () => void>();

  constructor(
    seed: number,
    database: Database,
    { plant = noPlant, shape, size, withTrace = false }: WorldOptions,
  ) {
    this.random = createSeededRandom(seed);
    this.plan = planWorld(this.random.fork(), shape, size);
    this.time = createVirtualTime(this.random.fork());
    this.database = database;
    this.#plant = plant;
    this.trace = new Trace(() => this.time.elapsed, withTrace);
    this.blobs = createMemoryBlobs({ now: () => this.time.clock.now() });
    this.observer = new Observer(database, () => this.time.elapsed);
    this.gate = new Gate(this);
    this.calls = new Calls(this);
    this.damaged = new Damaged(this);
    this.operator = new Operator(this);
    this.inputs = this.plan.batches.map((batch) => makeInput(batch, this.time.clock.now()));
  }

  async prepare(): Promise<void> {
    await this.database.reset(this.time.clock);
    this.database.locks.tell = (what) => this.observer.fail(what);
    for (const { file, bytes } of this.inputs) {
      this.blobs.put(file.blobId, bytes);
      await this.database.store.files.insert(file, undefined, file.createdAt);
    }
    for (let n = 0; n < this.plan.processes; n++) this.spawn();
    for (const { at, incident } of this.plan.incidents) this.time.after(at, () => this.#strike(incident));
    this.operator.start();
    this.#watchLeases();
  }

  spawn(): void {
    const process = new SimProcess(`p${this.#born++}`, this, this.#plant);
    this.processes.push(process);
    void process.start();
  }

  /** Random process that is ready, if there is one. */
  anyProcess(): SimProcess | undefined {
    const ready = this.processes.filter((process) => process.alive && process.ready);
    return ready.length === 0 ? undefined : this.random.pick(ready);
  }

  /** Kills a process; another one starts after `downMs`. */
  lose(process: SimProcess, downMs: number): void {
    if (!process.alive) return;
    process.kill();
    this.trace.add(process.name, 'is dead');
    this.time.after(downMs, () => this.spawn());
  }

  indexOf(file: StoredFile): InputIndex {
    const input = this.inputs.find((each) => each.file.id === file.id);
    if (!input) throw new Error(`There is no index of ${file.id}.`);
    return input.index;
  }

  /** Counts a failed engine call for the line with this text; other requests do not count. */
  noteFailure(text: string): void {
    const subject = /item \w+ \d+/.exec(text)?.[0];
    if (subject === undefined) return;
    this.failures.set(subject, (this.failures.get(subject) ?? 0) + 1);
  }

  noteClaims(chunks: readonly Chunk[]): void {
    for (const { batchId, lines } of chunks) {
      const name = this.#names.get(batchId) ?? '';
      for (const { line } of lines) {
        const subject = subjectOf(name, line);
        this.claims.set(subject, (this.claims.get(subject) ?? 0) + 1);
      }
    }
  }

  /** Stores the ID under which a planned batch was created. */
  learnId({ id }: Batch): void {
    this.#ids.set(this.#names.get(id) ?? '', id);
  }

  nameOf(batchId: string): string | undefined {
    return this.#names.get(batchId);
  }

  /** ID of the planned batch with this name. */
  idOf(name: string): string {
    return this.#ids.get(name) ?? '';
  }

  /** Stores the planned name of a batch in creation, taken from its input. */
  learnName({ id, inputFileId }: Batch): void {
    this.#names.set(id, inputFileId.slice('file-'.length));
  }

  /** Replaces a method of a class until `restoreMethods`, once for all processes. */
  replaceMethod<T extends object, M extends keyof T>(
    prototype: T,
    method: M,
    replace: (original: T[M]) => T[M],
  ): void {
    if (this.#replaced.has(prototype)) return;
    const original = prototype[method];
    prototype[method] = replace(original);
    this.#replaced.set(prototype, () => (prototype[method] = original));
  }

  restoreMethods(): void {
    for (const restore of this.#replaced.values()) restore();
    this.#replaced.clear();
  }

  /** Time after the last fault, in ms since the start. */
  get peacefulFrom(): number {
    const troubles = this.processes.map(({ alive, troubledAt, diedAt }) =>
      alive ? troubledAt : diedAt + longestDownMs,
    );
    return Math.max(this.plan.calmFrom, ...troubles);
  }

  /** Router in front of a model's engines, if the plan has one. */
  gatewayOf(model: string): Gateway | undefined {
    if (!this.plan.gateway) return undefined;
    const gateway = this.#gateways.get(model) ?? new Gateway({ openMs: 10_000 });
    this.#gateways.set(model, gateway);
    return gateway;
  }

  /** Result file of a batch, if there is one. */
  async resultFile(batchId: string, stream: ResultStream): Promise<StoredFile | undefined> {
    const { store } = this.database;
    const batch = await store.batches.find(batchId);
    const fileId = stream === 'output' ? batch?.outputFileId : batch?.errorFileId;
    return fileId ? store.files.find(fileId) : undefined;
  }

  /** Input of the planned batch with this name. */
  inputOf(name: string): Input | undefined {
    return this.inputs.find(({ file }) => file.id === `file-${name}`);
  }

  #strike(incident: Incident): void {
    this.trace.add('world', JSON.stringify(incident));
    if (incident.kind === 'damage') return void this.damaged.strike(incident.damage);
    if (incident.kind === 'refuse') {
      const { model, ms, retryAfter, how } = incident;
      this.refusals.set(model, { until: this.time.elapsed + ms, retryAfter, how });
      return;
    }
    const living = this.processes.filter((process) => process.alive);
    if (living.length === 0) return;
    const atWork = 'atWork' in incident ? this.observer.fences.ownerOfSuspect() : null;
    const victim = living.find(({ worker }) => worker === atWork) ?? this.random.pick(living);
    if (incident.kind === 'crash') this.lose(victim, incident.downMs);
    else if (incident.kind === 'pause') victim.pause(incident.ms);
    else if (incident.kind === 'silence') victim.silence(incident.ms);
    else if (incident.kind === 'jump') victim.time.jump(incident.ms);
    else if (incident.kind === 'store')
      for (const process of incident.everyone ? living : [victim]) {
        process.cutOffUntil = this.time.elapsed + incident.ms;
        process.trouble(incident.ms);
      }
    else if (incident.kind === 'stop') void this.#stop(victim, incident.downMs);
  }

  /** Drains a process as SIGTERM does; it must stop soon after the faults are over. */
  async #stop(process: SimProcess, downMs: number): Promise<void> {
    process.ready = false;
    const begun = this.time.elapsed;
    const look = () => {
      const left = Math.max(begun, process.troubledAt) + 180_000 - this.time.elapsed;
      if (left > 0) return void (patience = this.time.after(left, look));
      if (process.alive) this.observer.fail(`${process.name} has been stopping since ${begun}`);
    };
    let patience = this.time.after(180_000, look);
    await process.batches.stop().catch((error: unknown) => this.trace.add(process.name, String(error)));
    patience.cancel();
    this.trace.add(process.name, 'has stopped');
    this.lose(process, downMs);
  }

  #watchLeases(): void {
    this.time.after(5_000, () => {
      void this.observer.checkLeases();
      this.#watchLeases();
    });
  }
}

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
import { planWorld } from './plan-world.ts';
import type { Incident, Outage, Shape, Size, WorldPlan } from './plan.ts';
import { noPlant, type Plant } from './plant.ts';
import { SimProcess } from './sim-process.ts';
import { Trace } from './trace.ts';

/** A process is replaced at most this long after it died. */
const longestDownMs = 12_000;

export interface WorldOptions {
  plant?: Plant;
  /** What is not given is drawn. */
  shape?: Shape;
  size?: Size;
  /** Whether its history is written down. */
  told?: boolean;
}

/** Everything there is in one simulation: a database, blobs, engines out there, and processes that come and go. */
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
  readonly inputs: Input[];
  readonly processes: SimProcess[] = [];
  /** Engines that take nothing at present, by model. */
  readonly refusals = new Map<string, { until: number; retryAfter: number | null; how: Outage }>();
  /** Calls of each line that failed in a way that counts as an attempt, and how often its chunk was claimed. */
  readonly failures = new Map<string, number>();
  readonly claims = new Map<string, number>();
  /** The id of each planned batch, once a client knows it. */
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
    { plant = noPlant, shape, size, told = false }: WorldOptions,
  ) {
    this.random = createSeededRandom(seed);
    this.plan = planWorld(this.random.fork(), shape, size);
    this.time = createVirtualTime(this.random.fork());
    this.database = database;
    this.#plant = plant;
    this.trace = new Trace(() => this.time.elapsed, told);
    this.blobs = createMemoryBlobs({ now: () => this.time.clock.now() });
    this.observer = new Observer(database, () => this.time.elapsed);
    this.gate = new Gate(this);
    this.calls = new Calls(this);
    this.damaged = new Damaged(this);
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
    this.#watchLeases();
  }

  spawn(): void {
    const process = new SimProcess(`p${this.#born++}`, this, this.#plant);
    this.processes.push(process);
    void process.start();
  }

  /** A process that may be asked something, if there is one. */
  anyProcess(): SimProcess | undefined {
    const ready = this.processes.filter((process) => process.alive && process.ready);
    return ready.length === 0 ? undefined : this.random.pick(ready);
  }

  /** The process is no more; another takes its place after `downMs`. */
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

  /** An engine failed on the request with this text. */
  noteFailure(text: string): void {
    const subject = /item \w+ \d+/.exec(text)?.[0] ?? '';
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

  /** The batch is there: of all ids under which it was to be created, this is the one. */
  learnId({ id }: Batch): void {
    this.#ids.set(this.#names.get(id) ?? '', id);
  }

  nameOf(batchId: string): string | undefined {
    return this.#names.get(batchId);
  }

  /** The id of the planned batch of this name. */
  idOf(name: string): string {
    return this.#ids.get(name) ?? '';
  }

  /** A batch is being created: which planned one it is, its input says. */
  learnName({ id, inputFileId }: Batch): void {
    this.#names.set(id, inputFileId.slice('file-'.length));
  }

  /** Replaces a method of a class until `restoreMethods`; once, however many processes ask for it. */
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

  /** From when on nothing was out of order any more, in ms since the beginning. */
  get peacefulFrom(): number {
    const troubles = this.processes.map(({ alive, troubledAt, diedAt }) =>
      alive ? troubledAt : diedAt + longestDownMs,
    );
    return Math.max(this.plan.calmFrom, ...troubles);
  }

  /** What stands before the engines of a model, if anything. */
  gatewayOf(model: string): Gateway | undefined {
    if (!this.plan.gateway) return undefined;
    const gateway = this.#gateways.get(model) ?? new Gateway({ openMs: 10_000 });
    this.#gateways.set(model, gateway);
    return gateway;
  }

  /** A file of results of a batch, if there is one. */
  async resultFile(batchId: string, stream: ResultStream): Promise<StoredFile | undefined> {
    const { store } = this.database;
    const batch = await store.batches.find(batchId);
    const fileId = stream === 'output' ? batch?.outputFileId : batch?.errorFileId;
    return fileId ? store.files.find(fileId) : undefined;
  }

  /** The input of the planned batch of this name. */
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
    const atWork = 'atWork' in incident ? this.observer.fences.unluckiest() : null;
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

  /** A drain, as SIGTERM begins it. It must come to an end soon after nothing is in its way. */
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

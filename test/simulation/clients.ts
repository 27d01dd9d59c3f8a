import type { ResultStream } from '../../src/core/batch.ts';
import { type BlobError, isBlobLost } from '../../src/core/blob-error.ts';
import { ApiError } from '../../src/core/errors.ts';
import type { Caller } from '../../src/core/org.ts';
import { type BatchPlan, damageMs } from './plan.ts';
import type { SimProcess } from './sim-process.ts';
import type { World } from './world.ts';

const patienceMs = 6_000;
const decoder = new TextDecoder();

/** What a client read from a live tail, and where it is. */
export interface TailRead {
  stream: ResultStream;
  text: string;
  lines: number;
}

/** One user with one batch: creates it, perhaps cancels it, and reads its results while it runs. */
export class Client {
  readonly plan: BatchPlan;
  readonly tails: TailRead[] = [
    { stream: 'output', text: '', lines: 0 },
    { stream: 'errors', text: '', lines: 0 },
  ];
  /** Nothing is left to do for it. */
  done = false;
  #world: World;
  #caller: Caller;

  constructor(world: World, plan: BatchPlan) {
    this.#world = world;
    this.plan = plan;
    this.#caller = { orgId: plan.orgId, keyId: 'key_1', scopes: [], models: null };
  }

  async run(): Promise<void> {
    const { plan } = this;
    await this.#sleep(plan.createAt);
    const id = await this.#create();
    const work = this.tails.map((tail) => this.#follow(id, tail));
    if (plan.cancelAt !== null) work.push(this.#cancel(id, plan.cancelAt));
    await Promise.all(work);
    for (const tail of this.tails) await this.#download(id, tail);
    this.done = true;
  }

  /** Repeats with the same key until somebody answers: however often that is, it is one batch. */
  async #create(): Promise<string> {
    const { plan } = this;
    const startedAt = this.#world.time.clock.now();
    for (let retry = 0; ; retry++) {
      const answer = await this.#ask((process) =>
        process.batches.create(
          this.#caller,
          { endpoint: plan.endpoint, inputFileId: `file-${plan.name}` },
          { token: `k:batches:${plan.name}`, bodyHash: 'x', startedAt, retry, ttlMs: 86_400_000 },
        ),
      );
      if (!answer) continue;
      const { id } = answer.batch.batch;
      this.#world.batchIds.set(plan.name, id);
      return id;
    }
  }

  async #cancel(id: string, at: number): Promise<void> {
    await this.#sleep(at - this.#world.time.elapsed);
    const cancel = async (process: SimProcess) => {
      try {
        await process.batches.cancel(this.#caller, id);
      } catch (error) {
        // It was over already.
        if (!(error instanceof ApiError && error.code === 'batch_not_cancellable')) throw error;
      }
      return true;
    };
    while (!(await this.#ask(cancel)));
  }

  async #follow(id: string, tail: TailRead): Promise<void> {
    const { plan, random } = this.#world;
    // Nobody who has it all waits long before asking whether that was all: it is the end of most worlds.
    let isOver = false;
    for (;;) {
      await this.#sleep(isOver && plan.size === 'small' ? random.int(0, 500) : random.int(500, 6_000));
      const page = await this.#ask(async (process) => {
        const { bytes, ...rest } = await process.batches.results(this.#caller, id, tail.stream, tail.lines);
        const chunks: Uint8Array[] = [];
        let rests = 0;
        for await (const chunk of bytes) {
          chunks.push(chunk);
          // A slow reader: the batch may end and be cleared away while it reads.
          if (this.#world.random.chance(0.2) && rests++ < 3)
            await process.sleep(this.#world.random.int(0, 2_000));
        }
        return { ...rest, text: decoder.decode(Buffer.concat(chunks)) };
      });
      const file = page ? undefined : await this.#world.resultFile(id, tail.stream);
      if (file && this.#world.damaged.has(file)) return;
      if (!page) continue;
      const lines = page.text.split('\n').length - 1;
      if (lines !== page.lastLine - tail.lines || (lines > 0 && !page.text.endsWith('\n')))
        this.#world.observer.fail(
          `tail ${tail.stream} of ${id} from ${tail.lines} said up to ${page.lastLine} and gave ${lines} lines`,
        );
      tail.text += page.text;
      tail.lines = page.lastLine;
      if (!page.incomplete && lines === 0) return;
      isOver = !page.incomplete;
    }
  }

  /** Everything once more, when the rows may be gone: a file that is damaged ends with an error, and gives nothing wrong before. */
  async #download(id: string, { stream }: TailRead): Promise<void> {
    const { damaged, observer, plan, time } = this.#world;
    const file = await this.#world.resultFile(id, stream);
    if (!file || !damaged.isPlanned) return;
    await this.#sleep(Math.max(0, plan.calmFrom + damageMs - time.elapsed));
    while (!observer.isCleared(id)) await this.#sleep(1_000);
    const fail = (what: string) => observer.fail(`${stream} of ${id} ${what}`);
    const known = decoder.decode(damaged.stored(file.blobId));
    while (
      !(await this.#ask(async (process) => {
        let got = '';
        let told: BlobError | undefined;
        try {
          const { bytes } = await process.batches.results(this.#caller, id, stream, 0);
          for await (const chunk of bytes) got += decoder.decode(chunk);
        } catch (error) {
          if (!isBlobLost(error)) throw error;
          told = error;
        }
        if (!known.startsWith(got)) fail('is given as it never was');
        if (told === undefined && got !== known) fail('is given in part as if it were all');
        if (told !== undefined && !damaged.has(file)) fail(`is said to be lost: ${told.message}`);
        return true;
      }))
    );
  }

  /** Asks some process; undefined when none answers in time or it fails. */
  async #ask<T>(question: (process: SimProcess) => Promise<T>): Promise<T | undefined> {
    const { time, trace } = this.#world;
    const process = this.#world.anyProcess();
    if (!process) {
      await this.#sleep(1_000);
      return undefined;
    }
    return new Promise((resolve) => {
      const timer = time.after(patienceMs, () => resolve(undefined));
      void question(process)
        .catch((error: unknown) => {
          trace.add(this.plan.name, `is told by ${process.name}: ${String(error)}`);
          return this.#sleep(200).then(() => undefined);
        })
        .then((answer) => {
          timer.cancel();
          resolve(answer);
        });
    });
  }

  #sleep(ms: number): Promise<void> {
    return new Promise((resolve) => {
      this.#world.time.after(ms, resolve);
    });
  }
}

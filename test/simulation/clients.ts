import type { ResultStream } from '../../src/core/batch.ts';
import { type BlobError, isBlobLost } from '../../src/core/blob-error.ts';
import { windowOfLength } from '../../src/core/batch-window.ts';
import { ApiError } from '../../src/core/errors.ts';
import type { Caller } from '../../src/core/org.ts';
import { type BatchPlan, damageMs, offeredWindows } from './plan.ts';
import type { SimProcess } from './sim-process.ts';
import type { World } from './world.ts';

const patienceMs = 6_000;
const decoder = new TextDecoder();

/** Text that a client has read from a live tail so far. */
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
  /** True once the client has read everything. */
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

  /**
   * Repeats the request with the same idempotency key until a process answers; only one batch may result. A client whose short window
   * cannot be met asks for the default one.
   */
  async #create(): Promise<string> {
    const { plan } = this;
    const startedAt = this.#world.time.clock.now();
    this.#world.observer.askedAt.set(`file-${plan.name}`, this.#world.time.elapsed);
    let window = windowOfLength(offeredWindows(this.#world.plan), plan.windowMs ?? null);
    for (let retry = 0; ; retry++) {
      const existed = await this.#exists();
      const answer = await this.#call((process) =>
        process.batches
          .create(
            this.#caller,
            { endpoint: plan.endpoint, inputFileId: `file-${plan.name}`, ...(window && { window }) },
            { token: `k:batches:${plan.name}`, bodyHash: 'x', startedAt, retry, ttlMs: 86_400_000 },
          )
          .catch((error: unknown) => {
            if (error instanceof ApiError && error.code === 'window_too_short') return null;
            throw error;
          }),
      );
      if (answer === null) {
        if (existed) this.#world.observer.fail(`${plan.name} is refused for its window, and exists`);
        window = undefined;
      }
      if (!answer) continue;
      const { id } = answer.batch.batch;
      this.#world.batchIds.set(plan.name, id);
      return id;
    }
  }

  /** True if an earlier attempt has created the batch, whether or not its answer arrived. */
  async #exists(): Promise<boolean> {
    if (this.plan.windowMs === undefined) return false;
    const sql = 'SELECT id FROM batches WHERE input_file_id = ?';
    return (await this.#world.database.db.all(sql, [`file-${this.plan.name}`])).length > 0;
  }

  async #cancel(id: string, at: number): Promise<void> {
    await this.#sleep(at - this.#world.time.elapsed);
    const cancel = async (process: SimProcess) => {
      try {
        await process.batches.cancel(this.#caller, id);
      } catch (error) {
        // The batch had already ended.
        if (!(error instanceof ApiError && error.code === 'batch_not_cancellable')) throw error;
      }
      return true;
    };
    while (!(await this.#call(cancel)));
  }

  async #follow(id: string, tail: TailRead): Promise<void> {
    const { plan, random } = this.#world;
    // A client that has all lines soon asks whether more will come: most worlds end with this question.
    let isOver = false;
    for (;;) {
      await this.#sleep(isOver && plan.size === 'small' ? random.int(0, 500) : random.int(500, 6_000));
      const page = await this.#call(async (process) => {
        const { read, ...rest } = await process.batches.results(this.#caller, id, tail.stream, tail.lines);
        const chunks: Uint8Array[] = [];
        let rests = 0;
        for await (const chunk of await read()) {
          chunks.push(chunk);
          // A slow reader: the batch may end and be purged meanwhile.
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
          `tail ${tail.stream} of ${id} from ${tail.lines}reported up to ${page.lastLine} and gave ${lines} lines`,
        );
      tail.text += page.text;
      tail.lines = page.lastLine;
      if (!page.incomplete && lines === 0) return;
      isOver = !page.incomplete;
    }
  }

  /**
   * Reads the file once more, when the rows may be purged. A damaged file must end with an error, without a wrong byte
   * before it.
   */
  async #download(id: string, { stream }: TailRead): Promise<void> {
    const { damaged, observer, plan, time } = this.#world;
    const file = await this.#world.resultFile(id, stream);
    if (!file || !damaged.isPlanned) return;
    await this.#sleep(Math.max(0, plan.calmFrom + damageMs - time.elapsed));
    while (!observer.isCleared(id)) await this.#sleep(1_000);
    const fail = (what: string) => observer.fail(`${stream} of ${id} ${what}`);
    const known = decoder.decode(damaged.stored(file.blobId));
    while (
      !(await this.#call(async (process) => {
        let got = '';
        let lost: BlobError | undefined;
        try {
          const { read } = await process.batches.results(this.#caller, id, stream, 0);
          for await (const chunk of await read()) got += decoder.decode(chunk);
        } catch (error) {
          if (!isBlobLost(error)) throw error;
          lost = error;
        }
        if (!known.startsWith(got)) fail('has content that was never stored');
        if (lost === undefined && got !== known) fail('ends early without an error');
        if (lost !== undefined && !damaged.has(file)) fail(`is reported as lost: ${lost.message}`);
        return true;
      }))
    );
  }

  /** Calls a random process; returns undefined if none answers in time or the call fails. */
  async #call<T>(request: (process: SimProcess) => Promise<T>): Promise<T | undefined> {
    const { time, trace } = this.#world;
    const process = this.#world.anyProcess();
    if (!process) {
      await this.#sleep(1_000);
      return undefined;
    }
    return new Promise((resolve) => {
      const timer = time.after(patienceMs, () => resolve(undefined));
      void request(process)
        .catch((error: unknown) => {
          trace.add(this.plan.name, `gets an error from ${process.name}: ${String(error)}`);
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

import type { Clock, Timer } from '../../../base/clock.ts';
import type { WaitingLine } from './job.ts';
import { inputLine } from './shard-line.ts';
import type { JobFileWriter } from './storage/job-storage.ts';

export interface ShardOptions {
  /** Number of lines at which the shard is full. */
  maxLines: number;
  /** Time without a new line after which the shard is closed. */
  waitMs: number;
  clock: Clock;
  /** Called once, when the shard is full or no line has come for a while. */
  onClose: (shard: Shard) => void;
}

const noBytes = Buffer.alloc(0);

/** Input of a job while its lines arrive. Lines are written at once, so their bytes are not kept in memory. */
export class Shard {
  readonly id: string;
  readonly #writer: JobFileWriter;
  readonly #options: ShardOptions;
  readonly #lines: WaitingLine[] = [];
  #writing: Promise<void> = Promise.resolve();
  #timer: Timer | undefined;
  #lastAt: number;
  #isClosed = false;

  constructor(id: string, writer: JobFileWriter, options: ShardOptions) {
    this.id = id;
    this.#writer = writer;
    this.#options = options;
    this.#lastAt = options.clock.monotonic();
    this.#closeIn(options.waitMs);
  }

  /** Lines whose calls still wait. */
  get wanted(): WaitingLine[] {
    return this.#lines.filter(({ isGone }) => !isGone);
  }

  /** @throws the error of the storage */
  async add(line: WaitingLine): Promise<void> {
    const bytes = inputLine(line);
    // From here on, the input has them.
    line.body = noBytes;
    this.#lines.push(line);
    this.#lastAt = this.#options.clock.monotonic();
    this.#writing = this.#writing.then(() => this.#writer.write(bytes));
    if (this.#lines.length >= this.#options.maxLines) this.close();
    await this.#writing;
  }

  /** Takes no more lines. */
  close(): void {
    if (this.#isClosed) return;
    this.#isClosed = true;
    this.#timer?.cancel();
    this.#options.onClose(this);
  }

  /** Completes the input. @throws the error of the storage */
  async commit(): Promise<void> {
    await this.#writing;
    await this.#writer.commit();
  }

  async abort(): Promise<void> {
    this.#isClosed = true;
    this.#timer?.cancel();
    await this.#writing.catch(() => {});
    await this.#writer.abort();
  }

  #closeIn(ms: number): void {
    const { clock, waitMs } = this.#options;
    this.#timer = clock.after(ms, () => {
      const leftMs = this.#lastAt + waitMs - clock.monotonic();
      if (leftMs > 0) this.#closeIn(leftMs);
      else this.close();
    });
  }
}

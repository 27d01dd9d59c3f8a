import { type Clock, sleep } from '../../../base/clock.ts';
import type { Log } from '../../../base/log.ts';
import { ApiError } from '../../../core/errors.ts';
import type { Reply } from '../connection/replies.ts';
import { inputFile, type JobEnd, type JobRecords } from './job-records.ts';
import { OutputReader } from './output-reader.ts';
import { readResultLine } from './result-line.ts';
import type { JobOrder, JobRunner, JobState } from './runners/runner.ts';
import type { LineRequest } from './shard-line.ts';
import { jobCreatedAt, type JobStorage, outputFolder } from './storage/job-storage.ts';

/** Interval in which a job's followers note that they wait for it. */
const seenEveryMs = 60_000;

/** Line whose call waits for its result. */
export interface WaitingLine extends LineRequest {
  /** Job that is to answer it; undefined before its input is complete. */
  job?: Job | undefined;
  /** True once the call was aborted. */
  isGone: boolean;
  resolve: (reply: Reply<Buffer>) => void;
  reject: (error: unknown) => void;
}

export interface JobDeps {
  storage: JobStorage;
  records: JobRecords;
  runner: JobRunner;
  model: string;
  /** Interval of looking at the job and its results. */
  pollMs: number;
  /** Time from the start after which the job is cancelled. */
  maxMs: number;
  clock: Clock;
  log: Log;
  /** Called once, when the job has ended. */
  onEnd: (job: Job, end: JobEnd, missing: readonly WaitingLine[]) => void;
  /** Called when this process no longer follows the job. */
  onLeft: () => void;
}

/** One job: starts it if needed, and gives its results to the lines that wait for them until it ends. */
export class Job {
  readonly id: string;
  /** True for a job that another process began, or this one before a restart. */
  readonly isAdopted: boolean;
  readonly #deps: JobDeps;
  /** Keys of lines that no call of this process has asked for. */
  readonly #unclaimed: Set<string>;
  readonly #waiting = new Map<string, WaitingLine>();
  readonly #lineCount: number;
  readonly #stopping = new AbortController();
  #reader: OutputReader;
  #handle: string | undefined;
  #startedAt: number | undefined;
  #end: JobEnd | undefined;
  #answered = 0;
  #isFollowed = false;
  #isCancelled = false;
  #seenAt = Number.NEGATIVE_INFINITY;
  #isLogged = false;

  constructor(id: string, keys: readonly string[], isAdopted: boolean, deps: JobDeps) {
    this.id = id;
    this.isAdopted = isAdopted;
    this.#deps = deps;
    this.#lineCount = keys.length;
    this.#unclaimed = new Set(keys);
    this.#reader = new OutputReader(deps.storage, id, deps.clock);
  }

  /** Sets the state of an adopted job from its records. */
  restore(started: { handle: string; at: number } | undefined, end: JobEnd | undefined): void {
    this.#handle = started?.handle;
    this.#startedAt = started?.at;
    this.#end = end;
  }

  /** True while this process follows the job. */
  get isFollowed(): boolean {
    return this.#isFollowed;
  }

  /** True for a job that its runner has taken. */
  get isStarted(): boolean {
    return this.#handle !== undefined;
  }

  get end(): JobEnd | undefined {
    return this.#end;
  }

  /** True once all results were given to calls of this process. */
  get isUsedUp(): boolean {
    return this.#unclaimed.size + this.#waiting.size === 0;
  }

  /** Number of results that this process has taken from the job. */
  get answered(): number {
    return this.#answered;
  }

  /** True if the job answers a line that no call waits for. */
  expects(key: string): boolean {
    return this.#unclaimed.has(key);
  }

  /** Assigns a line of the job to the call that waits for its result. */
  take(line: WaitingLine): void {
    this.#unclaimed.delete(line.key);
    this.#waiting.set(line.key, line);
    line.job = this;
    // Results that were skipped are read again.
    if (this.isAdopted) this.#reader = new OutputReader(this.#deps.storage, this.id, this.#deps.clock);
  }

  /** Drops a line whose call was aborted, and cancels a job without waiting lines. */
  leave(key: string, reason: unknown): void {
    this.#waiting.delete(key);
    // When a process shuts down, the next one adopts its jobs.
    const isShutdown = reason instanceof ApiError && reason.code === 'shutting_down';
    if (this.isUsedUp && !isShutdown) this.cancel();
  }

  /** Cancels the job, whose remaining results are not needed. */
  cancel(): void {
    this.#isCancelled = true;
    if (!this.#isFollowed && !this.#end) void this.follow();
    else this.#wake();
  }

  /** Stops following the job, which continues. */
  stop(): void {
    this.#stopping.abort();
    this.#wake();
  }

  #wake: () => void = () => {};

  /** Follows the job until it has ended or no line waits for it. */
  async follow(): Promise<void> {
    if (this.#isFollowed) return;
    this.#isFollowed = true;
    try {
      if (await this.#ensureStarted()) await this.#poll();
    } finally {
      this.#isFollowed = false;
      this.#deps.onLeft();
    }
  }

  /** Starts the job unless it was started. @returns false if it has ended instead */
  async #ensureStarted(): Promise<boolean> {
    const { runner, records, clock, log } = this.#deps;
    if (this.#handle !== undefined || this.#end) return true;
    if (this.#isCancelled) return this.#finish({ state: 'cancelled' });
    try {
      this.#handle = await runner.start(this.#order);
    } catch (error) {
      const note = error instanceof Error ? error.message : String(error);
      return this.#finish({ state: 'failed', note: `The job could not be started: ${note}` });
    }
    this.#startedAt = clock.now();
    log.info({ job: this.id, lines: this.#lineCount, handle: this.#handle }, 'a job was started');
    await this.#tolerate(() => records.writeStarted(this.id, this.#handle!, this.#startedAt!));
    return true;
  }

  async #poll(): Promise<void> {
    const { clock, pollMs, maxMs } = this.#deps;
    const { signal } = this.#stopping;
    while (!signal.aborted) {
      const state: JobState | JobEnd = this.#end ?? (await this.#stateOf());
      const isRead = await this.#tolerate(() => this.#readResults(state.state !== 'running'));
      if (signal.aborted) return;
      if (state.state !== 'running' && isRead) {
        this.#finish(state);
        return;
      }
      if (this.#isCancelled) return this.#cancelNow({ state: 'cancelled' });
      if (clock.now() - (this.#startedAt ?? clock.now()) > maxMs)
        return this.#cancelNow({ state: 'failed', note: 'The job took longer than max_time.' });
      if (this.isAdopted && this.#waiting.size === 0) return;
      await this.#noteSeen();
      await this.#pause(pollMs);
    }
  }

  async #pause(ms: number): Promise<void> {
    const early = new AbortController();
    this.#wake = () => early.abort();
    if (this.#isCancelled || this.#stopping.signal.aborted) return;
    await sleep(this.#deps.clock, ms, early.signal);
  }

  get #order(): JobOrder {
    const { storage, model } = this.#deps;
    const [input, output] = [inputFile, outputFolder].map((name) => storage.address(this.id, name));
    return { id: this.id, model, lines: this.#lineCount, input: input!, output: output! };
  }

  get #started() {
    return { ...this.#order, handle: this.#handle ?? '' };
  }

  /** State of the job; `running` if unknown, because the job may continue while its runner is unreachable. */
  async #stateOf(): Promise<JobState> {
    let state: JobState = { state: 'running' };
    await this.#tolerate(async () => void (state = await this.#deps.runner.stateOf(this.#started)));
    return state;
  }

  async #readResults(hasEnded: boolean): Promise<void> {
    const reader = this.#reader;
    for await (const bytes of reader.lines(hasEnded, this.#stopping.signal)) {
      if (this.#waiting.size === 0) continue;
      const result = readResultLine(bytes);
      const line = result && this.#waiting.get(result.key);
      if (!line) continue;
      this.#waiting.delete(result.key);
      this.#answered++;
      line.resolve(result.reply);
    }
    // A line that was assigned meanwhile may have its result in the part that was read.
    if (reader !== this.#reader) await this.#readResults(hasEnded);
  }

  async #cancelNow(end: JobState | Pick<JobEnd, 'state'>): Promise<void> {
    await this.#tolerate(() => this.#deps.runner.cancel(this.#started));
    this.#finish(end);
  }

  /** @returns false, as the job has ended */
  #finish(end: JobState | Pick<JobEnd, 'state'>): false {
    const { records, clock, log, onEnd } = this.#deps;
    const isNew = this.#end === undefined;
    const note = 'note' in end ? end.note : '';
    this.#end ??= { state: end.state as JobEnd['state'], note, at: clock.now() };
    const missing = [...this.#waiting.values()];
    this.#waiting.clear();
    const { id } = this;
    if (isNew) {
      const fields = { job: id, handle: this.#handle, state: end.state, results: this.#answered };
      log.info({ ...fields, missing: missing.length }, 'a job has ended');
      void this.#tolerate(() => records.writeEnded(id, this.#end!));
    }
    onEnd(this, this.#end, missing);
    return false;
  }

  /** End of the job's log, for the operator. */
  async log(): Promise<string> {
    if (this.#handle === undefined) return '';
    return this.#deps.runner.logOf(this.#started).catch(() => '');
  }

  async #noteSeen(): Promise<void> {
    const { clock, records } = this.#deps;
    const now = clock.now();
    if (now - this.#seenAt < seenEveryMs) return;
    this.#seenAt = now;
    await this.#tolerate(() => records.writeSeen(this.id, now));
  }

  /** Time in epoch milliseconds at which a process last waited for the job. */
  async seenAt(): Promise<number> {
    return (await this.#deps.records.readSeen(this.id)) ?? jobCreatedAt(this.id);
  }

  /** Runs a step that is repeated later if it fails. @returns true if it succeeded */
  async #tolerate(step: () => Promise<unknown>): Promise<boolean> {
    try {
      await step();
      this.#isLogged = false;
      return true;
    } catch (error) {
      const level = this.#isLogged ? 'debug' : 'warn';
      this.#deps.log[level]({ err: error, job: this.id }, 'a job cannot be followed at present');
      this.#isLogged = true;
      return false;
    }
  }
}

import { backoffMs } from '../../../base/backoff.ts';
import { type Clock, sleep, type Timer } from '../../../base/clock.ts';
import type { Ids } from '../../../base/ids.ts';
import type { Log } from '../../../base/log.ts';
import { onAbort } from '../../../base/on-abort.ts';
import { ambiguous, ApiError, unavailable } from '../../../core/errors.ts';
import type { Reply } from '../connection/replies.ts';
import { Job, type JobDeps, type WaitingLine } from './job.ts';
import { createJobRecords, inputFile, type JobEnd } from './job-records.ts';
import { JobList } from './job-list.ts';
import type { JobRunner } from './runners/runner.ts';
import { Shard } from './shard.ts';
import type { LineRequest } from './shard-line.ts';
import type { JobStorage } from './storage/job-storage.ts';

/** Time in which lines gather for one listing of the jobs. */
const listEveryMs = 100;
/** Pause before the next job after one without any result. */
const backoff = { initialMs: 15_000, maxMs: 30 * 60_000 };
/** Factor by which jobs get smaller for lines whose job ended without any result: one of them may be the cause. */
const shrinkFactor = 16;

export interface JobQueueOptions {
  model: string;
  storage: JobStorage;
  runner: JobRunner;
  /** Lines of one job. */
  maxLines: number;
  /** Jobs that this process runs at a time. */
  maxJobs: number;
  waitMs: number;
  pollMs: number;
  maxMs: number;
  clock: Clock;
  ids: Ids;
  log: Log;
}

/** Gathers lines into jobs, and runs them. A line that a job of any process already contains waits for that job instead. */
export class JobQueue {
  readonly #options: JobQueueOptions;
  readonly #jobs: JobList;
  readonly #deps: JobDeps;
  /** Shards that still take lines, by the number of failed jobs of their lines. */
  readonly #openShards = new Map<number, Shard>();
  #arrivals: WaitingLine[] = [];
  #isRouting = false;
  /** Jobs that wait for their start. */
  #queued: Job[] = [];
  /** Number of jobs that ended without any result, by line, and in a row. */
  readonly #failedJobsByLine = new Map<string, number>();
  #failuresInRow = 0;
  /** Monotonic milliseconds before which no job is started. */
  #heldUntil = Number.NEGATIVE_INFINITY;
  #holdTimer: Timer | undefined;
  #isStopped = false;

  constructor(options: JobQueueOptions) {
    const { storage } = options;
    const records = createJobRecords(storage);
    this.#options = options;
    this.#deps = {
      ...options,
      records,
      onEnd: (job, end, missing) => this.#jobEnded(job, end, missing),
      onLeft: () => this.#startNext(),
    };
    this.#jobs = new JobList({
      ...options,
      records,
      toJob: (id, keys) => new Job(id, keys, true, this.#deps),
    });
  }

  start(): void {
    this.#isStopped = false;
    this.#jobs.start();
  }

  /** Stops following jobs. Those that were started continue. */
  async stop(): Promise<void> {
    this.#isStopped = true;
    this.#holdTimer?.cancel();
    this.#jobs.stop();
    const shards = [...this.#openShards.values()];
    this.#openShards.clear();
    await Promise.all(shards.map((shard) => shard.abort()));
  }

  /** Milliseconds before the next job may start. */
  get heldMs(): number {
    return Math.max(0, this.#heldUntil - this.#options.clock.monotonic());
  }

  /** Runs a line in a job. Rejects as `Engine.generate` does. */
  run(request: LineRequest, signal: AbortSignal): Promise<Reply<Buffer>> {
    signal.throwIfAborted();
    return new Promise((resolve, reject) => {
      const forget = onAbort(signal, () => {
        line.isGone = true;
        this.#failedJobsByLine.delete(line.key);
        line.job?.leave(line.key, signal.reason);
        reject(signal.reason as Error);
      });
      const line: WaitingLine = {
        ...request,
        isGone: false,
        resolve: (reply) => {
          forget();
          this.#failedJobsByLine.delete(line.key);
          resolve(reply);
        },
        reject: (error) => {
          forget();
          reject(error);
        },
      };
      this.#arrivals.push(line);
      void this.#route();
    });
  }

  /** Gives each line to the job that contains it, or else to a shard. */
  async #route(): Promise<void> {
    if (this.#isRouting) return;
    this.#isRouting = true;
    while (this.#arrivals.length > 0) {
      await sleep(this.#options.clock, listEveryMs);
      // The records are read after the lines arrive: a dead process wrote those of its jobs before another one took over its lines.
      const lines = this.#arrivals.splice(0);
      let routed = 0;
      try {
        await this.#jobs.refresh();
        const adopting = new Set<Job>();
        for (const line of lines) {
          const job = line.isGone ? undefined : this.#jobs.expecting(line.key);
          if (job) adopting.add(job);
          if (job) job.take(line);
          else if (!line.isGone) await this.#gather(line);
          routed++;
        }
        for (const job of adopting) this.#follow(job);
      } catch (error) {
        this.#failAll(lines.slice(routed), error);
      }
    }
    this.#isRouting = false;
  }

  async #gather(line: WaitingLine): Promise<void> {
    const failed = this.#failedJobsByLine.get(line.key) ?? 0;
    const shard = this.#openShards.get(failed) ?? (await this.#openShard(failed));
    await shard.add(line).catch((error: unknown) => {
      this.#openShards.delete(failed);
      return this.#discard(shard, error);
    });
  }

  async #openShard(failed: number): Promise<Shard> {
    const { ids, storage, maxLines, waitMs, clock } = this.#options;
    const id = ids.next('job-');
    const writer = await storage.create(id, inputFile);
    const shard = new Shard(id, writer, {
      maxLines: Math.max(1, Math.floor(maxLines / shrinkFactor ** failed)),
      waitMs,
      clock,
      onClose: (closed) => {
        this.#openShards.delete(failed);
        void this.#enqueue(closed);
      },
    });
    this.#openShards.set(failed, shard);
    return shard;
  }

  async #enqueue(shard: Shard): Promise<void> {
    const { model } = this.#options;
    try {
      await shard.commit();
      const lines = shard.wanted;
      if (lines.length === 0) return await this.#options.storage.remove(shard.id);
      const keys = lines.map(({ key }) => key);
      const job = new Job(shard.id, keys, false, this.#deps);
      // Added before its records exist, so that a listing does not take it for a job of another process.
      this.#jobs.add(job);
      for (const line of lines) job.take(line);
      await this.#deps.records.writeManifest(job.id, model, keys);
      this.#follow(job);
    } catch (error) {
      this.#jobs.forget(shard.id);
      await this.#discard(shard, error);
    }
  }

  async #discard(shard: Shard, error: unknown): Promise<void> {
    await shard.abort().catch(() => {});
    this.#failAll(shard.wanted, error);
  }

  #follow(job: Job): void {
    if (job.isFollowed || this.#queued.includes(job)) return;
    // The results of a job that runs or has ended are read at once.
    if (job.isStarted || job.end) return void job.follow();
    this.#queued.push(job);
    this.#startNext();
  }

  #startNext(): void {
    const { maxJobs, clock } = this.#options;
    if (this.#isStopped) return;
    const { heldMs } = this;
    if (heldMs > 0) {
      this.#holdTimer?.cancel();
      this.#holdTimer = clock.after(heldMs, () => this.#startNext());
      return;
    }
    // Jobs that were cancelled before their start have ended.
    this.#queued = this.#queued.filter((job) => !job.end);
    while (this.#queued.length > 0 && this.#jobs.running < maxJobs) void this.#queued.shift()!.follow();
  }

  #jobEnded(job: Job, end: JobEnd, missing: readonly WaitingLine[]): void {
    const hasProgress = job.answered > 0;
    if (hasProgress) this.#failuresInRow = 0;
    if (job.isAdopted) this.#reroute(missing);
    else if (missing.length > 0) {
      if (!hasProgress) this.#holdStarts();
      // If the job answered no line, one of its lines may be the cause. Otherwise it only ended too early for the others.
      const isSuspect = job.isStarted && !hasProgress;
      if (isSuspect) for (const { key } of missing) this.#countFailedJob(key);
      const error = new ApiError('upstream_error', 'The job of the request ended without its answer.', {
        blame: isSuspect ? ambiguous : unavailable,
      });
      void this.#warnOfMissing(job, end, missing.length);
      for (const line of missing) line.reject(error);
    }
    this.#jobs.ended(job);
  }

  /** Routes lines again whose job, of another process, ended without their results. */
  #reroute(lines: readonly WaitingLine[]): void {
    for (const line of lines) line.job = undefined;
    this.#arrivals.push(...lines);
    void this.#route();
  }

  #countFailedJob(key: string): void {
    this.#failedJobsByLine.set(key, (this.#failedJobsByLine.get(key) ?? 0) + 1);
  }

  #holdStarts(): void {
    this.#heldUntil = this.#options.clock.monotonic() + backoffMs(++this.#failuresInRow, backoff);
  }

  async #warnOfMissing(job: Job, { state, note }: JobEnd, missing: number): Promise<void> {
    const end = await job.log();
    const { log } = this.#options;
    log.warn({ job: job.id, state, note, missing, log: end }, 'a job ended without all results');
  }

  #failAll(lines: readonly WaitingLine[], cause: unknown): void {
    if (lines.length === 0) return;
    this.#options.log.warn({ err: cause }, 'the input of a job cannot be written');
    const message = 'The files of jobs cannot be written at present.';
    const error = cause instanceof ApiError ? cause : new ApiError('storage_unavailable', message, { cause });
    for (const line of lines) line.reject(error);
  }
}

import type { Clock, Timer } from '../../../base/clock.ts';
import type { Log } from '../../../base/log.ts';
import type { Job } from './job.ts';
import type { JobRecords } from './job-records.ts';
import { jobCreatedAt, type JobStorage } from './storage/job-storage.ts';

/** Time for which the files of an ended job are kept for a process that takes over its lines. */
const keepMs = { usedUp: 10 * 60_000, ended: 60 * 60_000, incomplete: 24 * 60 * 60_000 } as const;
/** Interval of looking for jobs without followers, longer than the time after which lines of a dead process are claimed. */
const sweepEveryMs = 10 * 60_000;

export interface JobListDeps {
  storage: JobStorage;
  records: JobRecords;
  clock: Clock;
  log: Log;
  /** Creates a job of another process. */
  toJob: (id: string, keys: readonly string[]) => Job;
}

/** Jobs of one model that are known to this process, its own and those that it found in the storage. */
export class JobList {
  readonly #deps: JobListDeps;
  readonly #jobs = new Map<string, Job>();
  #sweepTimer: Timer | undefined;
  #isStopped = false;

  constructor(deps: JobListDeps) {
    this.#deps = deps;
  }

  start(): void {
    this.#isStopped = false;
    this.#sweepLater();
  }

  stop(): void {
    this.#isStopped = true;
    this.#sweepTimer?.cancel();
    for (const job of this.#jobs.values()) job.stop();
    this.#jobs.clear();
  }

  /** Number of jobs that this process follows and that have not ended. */
  get running(): number {
    return [...this.#jobs.values()].filter(({ isFollowed, end }) => isFollowed && !end).length;
  }

  add(job: Job): void {
    this.#jobs.set(job.id, job);
  }

  forget(id: string): void {
    this.#jobs.delete(id);
  }

  /** The oldest job that answers a line and that no call waits on for it. */
  expecting(key: string): Job | undefined {
    for (const job of this.#jobs.values()) if (job.expects(key)) return job;
    return undefined;
  }

  /** Reads the records of new jobs. */
  async refresh(): Promise<void> {
    const { storage, records, toJob } = this.#deps;
    const ids = await storage.list();
    for (const id of ids) {
      if (this.#jobs.has(id)) continue;
      const keys = await records.readLines(id);
      // Its input is being written.
      if (!keys || this.#jobs.has(id)) continue;
      const job = toJob(id, keys);
      job.restore(await records.readStarted(id), await records.readEnded(id));
      this.#jobs.set(id, job);
    }
    const present = new Set(ids);
    for (const [id, { isFollowed, isAdopted }] of this.#jobs)
      if (isAdopted && !isFollowed && !present.has(id)) this.#jobs.delete(id);
  }

  /** Removes the files of an ended job later: its last results may not be recorded yet. */
  ended(job: Job): void {
    if (!job.isUsedUp) return;
    this.#deps.clock.after(keepMs.usedUp, () => {
      if (!this.#isStopped) void this.#remove(job.id);
    });
  }

  #sweepLater(): void {
    if (this.#isStopped) return;
    this.#sweepTimer = this.#deps.clock.after(sweepEveryMs, () => {
      void this.#sweep()
        .catch((error: unknown) => this.#deps.log.warn({ err: error }, 'old jobs cannot be removed'))
        .then(() => this.#sweepLater());
    });
  }

  /** Cancels jobs that no process has waited for in a while, and removes those that ended long ago. */
  async #sweep(): Promise<void> {
    const { storage, records, clock } = this.#deps;
    await this.refresh();
    for (const job of this.#jobs.values()) {
      if (job.isFollowed || !job.isAdopted) continue;
      const end = job.end ?? (await records.readEnded(job.id));
      if (end && clock.now() - end.at > keepMs.ended) await this.#remove(job.id);
      else if (!end && clock.now() - (await job.seenAt()) > sweepEveryMs && !job.isFollowed) job.cancel();
    }
    for (const id of await storage.list())
      if (!this.#jobs.has(id) && clock.now() - jobCreatedAt(id) > keepMs.incomplete) await this.#remove(id);
  }

  async #remove(id: string): Promise<void> {
    const { storage, log } = this.#deps;
    try {
      await storage.remove(id);
      this.#jobs.delete(id);
    } catch (error) {
      log.warn({ err: error, job: id }, 'the files of a job cannot be removed');
    }
  }
}

import { backoffMs } from '../../base/backoff.ts';
import type { Timer } from '../../base/clock.ts';
import type { OpenBatch, WatchedBatch } from '../../store/contract/batches.ts';
import type { BatchContext } from '../batch-context.ts';
import { batchesAtRisk, runTimes, type TimesDeps } from '../deadline-risk.ts';
import type { LocalWork } from '../claimed/local-work.ts';

const watchMs = 500;
/** How often it is looked for windows that are over, and for what finished batches have left. */
const expireMs = 1_000;
const clearMs = 2_000;
/** How often it is judged which batches will miss their windows, and how many are read at a time. */
const judgeMs = 30_000;
const openAtOnce = 2_000;
const expireAtOnce = 100;
const leftoversAtOnce = 4;
/** How often it is looked for batches that nobody would end, and how many are mended at a time. */
const strandedMs = 60_000;
const strandedAtOnce = 10;
/** What failed is done again after a while, at most this long. */
const pauses = { initialMs: 1_000, maxMs: 5_000 };

export interface MaintenanceDeps extends TimesDeps, Pick<BatchContext, 'store' | 'clock' | 'random' | 'log'> {
  work: LocalWork;
  /** There is work to claim: the end of some batch was decided, or one was reopened. */
  onWork: () => void;
  /** A finished batch still has rows. */
  purge: (batchId: string) => Promise<void>;
}

/** Something done at every look, or less often; one that fails waits by itself. */
interface Step {
  run: () => Promise<void>;
  /** 0 for every look. */
  everyMs: number;
  failures: number;
  /** On the monotonic clock. */
  notBefore: number;
}

/**
 * Twice a second: learns which batches in hand were cancelled or paused elsewhere, or may cost nothing more; less often: begins
 * the end of batches whose window is over (batch-engine.md, "Cancel" and "Expiry"), and clears away what finished ones have left; and
 * now and then tells which batches will miss their windows, and looks for batches that nobody would end
 * (`BatchStore.reopen`).
 */
export class Maintenance {
  #deps: MaintenanceDeps;
  #timer: Timer | null = null;
  #round: Promise<void> | null = null;
  #stopped = true;
  #steps: Step[] = [
    this.#step(() => this.#expire(), expireMs),
    this.#step(() => this.#followAll()),
    this.#step(() => this.#clearAway(), clearMs),
    this.#step(() => this.#reopen(), strandedMs),
    this.#step(() => this.#judge(), judgeMs),
  ];

  constructor(deps: MaintenanceDeps) {
    this.#deps = deps;
  }

  start(): void {
    this.#stopped = false;
    this.#schedule();
  }

  async stop(): Promise<void> {
    this.#stopped = true;
    this.#timer?.cancel();
    await this.#round;
  }

  #schedule(): void {
    if (this.#stopped) return;
    this.#timer = this.#deps.clock.after(watchMs, () => {
      this.#round = this.#look().finally(() => this.#schedule());
    });
  }

  async #look(): Promise<void> {
    const { clock, random, log } = this.#deps;
    for (const step of this.#steps) {
      if (clock.monotonic() < step.notBefore) continue;
      try {
        await step.run();
        step.failures = 0;
        step.notBefore = clock.monotonic() + step.everyMs;
      } catch (error) {
        const wait = backoffMs(++step.failures, pauses, random.float());
        step.notBefore = clock.monotonic() + wait;
        log.error({ err: error, wait_ms: wait }, 'the batches could not be watched');
      }
    }
  }

  #step(run: Step['run'], everyMs = 0): Step {
    return { run, everyMs, failures: 0, notBefore: 0 };
  }

  async #expire(): Promise<void> {
    const { store, time, onWork } = this.#deps;
    const expired = await store.batches.expire(time.now(), expireAtOnce);
    if (expired.length > 0) onWork();
  }

  async #followAll(): Promise<void> {
    const { store, work, time } = this.#deps;
    const held = work.batches().map((batch) => batch.id);
    if (held.length === 0) return;
    const watched = await store.batches.states(held, time.now());
    const states = new Map(watched.map((state) => [state.id, state]));
    for (const id of held) this.#follow(id, states.get(id));
  }

  /** Tells once of each batch that will miss its window. */
  async #judge(): Promise<void> {
    const { store, time, log } = this.#deps;
    const now = time.now();
    const open = await this.#open();
    const told = new Set(open.filter(({ atRiskAt }) => atRiskAt !== null).map(({ id }) => id));
    for (const id of batchesAtRisk(open, (orgId, model) => runTimes(this.#deps, orgId, model)))
      if (!told.has(id) && (await store.batches.markAtRisk(id, now)))
        log.warn({ batch: id }, 'a batch will miss its window');
  }

  /** All of them: whether one is late is told by what goes before it. */
  async #open(): Promise<OpenBatch[]> {
    const open: OpenBatch[] = [];
    for (;;) {
      const page = await this.#deps.store.batches.listOpen(openAtOnce, open.at(-1));
      open.push(...page);
      if (page.length < openAtOnce) return open;
    }
  }

  /** A batch that cannot be cleared away does not keep the next ones. */
  async #clearAway(): Promise<void> {
    const { store, purge } = this.#deps;
    const errors: unknown[] = [];
    for (const id of await store.results.leftovers(leftoversAtOnce))
      await purge(id).catch((error: unknown) => errors.push(error));
    if (errors.length > 0) throw errors[0];
  }

  async #reopen(): Promise<void> {
    const { store, time, log, onWork } = this.#deps;
    const batches = await store.batches.reopen(time.now(), strandedAtOnce);
    if (batches.length === 0) return;
    log.error({ batches }, 'the database has lost results that it had confirmed; their lines run again');
    onWork();
  }

  #follow(id: string, state: WatchedBatch | undefined): void {
    const { work, time } = this.#deps;
    if (!state) return work.stopBatch(id, 0);
    const isHeldBack = state.pausedAt !== null || state.isBudgetUsedUp;
    if (state.closing === null) return isHeldBack ? work.yieldBatch(id) : work.resumeBatch(id);
    if (state.closing === 'completed') return;
    // An expired batch is over at expires_at; what is accepted after that only drains buffers.
    const grace = state.closing === 'cancelled' ? state.acceptUntil - time.now() : 0;
    work.stopBatch(id, grace);
  }
}

import { backoffMs } from '../../base/backoff.ts';
import { hourMs, type Timer } from '../../base/clock.ts';
import type { Duties } from '../../core/duties.ts';
import { familyOf } from '../../core/key-family.ts';
import { firstGroupAt, isGroup } from '../../core/request-group.ts';
import { createRetryLog, type RetryLog } from '../../core/retry-log.ts';
import type { OpenBatch, WatchedBatch } from '../../store/contract/batches.ts';
import type { Capacity } from '../../inference/capacity.ts';
import type { Peers } from '../../inference/peers.ts';
import type { BatchContext } from '../batch-context.ts';
import { batchesAtRisk, runTimes, type TimesDeps } from '../deadline-risk.ts';
import { listPressing } from '../list-open.ts';
import type { LocalWork } from '../claimed/local-work.ts';

const roundMs = 500;
const expireMs = 1_000;
const purgeMs = 2_000;
const hurryMs = 2_000;
/** A million open batches with windows of a day bring twelve a second. */
const maxHurried = 100;
const riskMs = 30_000;
const followRisksMs = 5_000;
const maxExpired = 100;
const maxPurged = 4;
const reopenMs = 60_000;
const maxReopened = 10;
const forgetMs = 60_000;
const maxForgotten = 100;
/** Repeats of a request are recognized for 24 hours, and it may have begun late. */
const keepRequestsMs = 25 * hourMs;
const errorBackoff = { initialMs: 1_000, maxMs: 5_000 };
const messages = {
  failed: 'a maintenance task failed; trying again',
  succeeded: 'all maintenance tasks succeed again',
};

export interface MaintenanceDeps
  extends TimesDeps, Pick<BatchContext, 'store' | 'clock' | 'billingClock' | 'random' | 'log'> {
  capacity: Pick<Capacity, 'setAtRisk'>;
  peers: Pick<Peers, 'list' | 'idOf'>;
  /** Most tasks are for all processes, and run where these are held. */
  duties: Duties;
  work: LocalWork;
  /** Called when there is work to claim: a batch ends or was reopened. */
  onWork: () => void;
  /** Deletes the rows of a finished batch. */
  purge: (batchId: string) => Promise<void>;
}

/** A periodic task, with its own back-off. */
interface Task {
  run: () => Promise<void>;
  /** True if it runs only where the duties are held. */
  isDuty: boolean;
  /** 0 for every round. */
  everyMs: number;
  failures: number;
  /** Monotonic milliseconds. */
  notBefore: number;
}

/**
 * Periodic tasks of the batch engine: follows the state of running batches (cancelled, paused, out of budget, org disabled), drops
 * single requests that another process has ended, ends expired batches (batch-engine.md, "Cancel" and "Expiry"), purges finished ones,
 * warns of batches at risk, and reopens batches whose results the database has lost (`BatchStore.reopen`).
 */
export class Maintenance {
  #deps: MaintenanceDeps;
  #timer: Timer | null = null;
  #round: Promise<void> | null = null;
  #stopped = true;
  #failures: RetryLog;
  #tasks: Task[] = [
    this.#task(() => this.#expire(), expireMs),
    this.#task(() => this.#followAll()),
    this.#task(() => this.#dropEnded()),
    this.#duty(() => this.#purgeFinished(), purgeMs),
    this.#duty(() => this.#reopen(), reopenMs),
    this.#duty(() => this.#hurryLate(), hurryMs),
    this.#duty(() => this.#warnOfRisks(), riskMs),
    this.#duty(() => this.#forgetRequests(), forgetMs),
    this.#task(() => this.#followRisks(), followRisksMs),
  ];

  constructor(deps: MaintenanceDeps) {
    this.#deps = deps;
    this.#failures = createRetryLog(deps.log, messages);
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
    this.#timer = this.#deps.clock.after(roundMs, () => {
      this.#round = this.#runDue().finally(() => this.#schedule());
    });
  }

  async #runDue(): Promise<void> {
    const { clock, random, duties } = this.#deps;
    for (const task of this.#tasks) {
      if (clock.monotonic() < task.notBefore || (task.isDuty && !duties.isHolder())) continue;
      try {
        await task.run();
        task.failures = 0;
        task.notBefore = clock.monotonic() + task.everyMs;
        if (this.#tasks.every(({ failures }) => failures === 0)) this.#failures.succeeded();
      } catch (error) {
        const wait = backoffMs(++task.failures, errorBackoff, random.float());
        task.notBefore = clock.monotonic() + wait;
        this.#failures.failed(error, { wait_ms: wait });
      }
    }
  }

  #task(run: Task['run'], everyMs = 0): Task {
    return { run, isDuty: false, everyMs, failures: 0, notBefore: 0 };
  }

  /** Task that one process does for all. */
  #duty(run: Task['run'], everyMs: number): Task {
    return { ...this.#task(run, everyMs), isDuty: true };
  }

  async #expire(): Promise<void> {
    const { store, time, onWork } = this.#deps;
    const expired = await store.batches.expire(time.now(), maxExpired);
    if (expired.length > 0) onWork();
  }

  async #followAll(): Promise<void> {
    const { store, work, billingClock } = this.#deps;
    const ids = work.batches().map((batch) => batch.id);
    if (ids.length === 0) return;
    const watched = await store.batches.states(ids, billingClock.now());
    const states = new Map(watched.map((state) => [state.id, state]));
    for (const id of ids) this.#follow(id, states.get(id));
  }

  /** Drops this process's single requests that have a result: another process has cancelled or answered them. */
  async #dropEnded(): Promise<void> {
    const { store, work } = this.#deps;
    const running = work.requests();
    if (running.length === 0) return;
    for (const place of await store.requests.ended(running)) work.cancelRequest(place);
  }

  /** Puts late batches before all others of their orgs. */
  async #hurryLate(): Promise<void> {
    const { store, time } = this.#deps;
    await store.batches.hurry(time.now(), maxHurried);
  }

  /** Warns once of each batch that will miss its window. Disabled orgs are left out. */
  async #warnOfRisks(): Promise<void> {
    const { store, time, log, duties, capacity, budgets } = this.#deps;
    const now = time.now();
    // The risk of a batch depends on those before it.
    // Batches without a budget, or of a disabled org, wait for an administrator, who knows that they may expire.
    const mayRun = (each: OpenBatch) => budgets.waiting(each.orgId, familyOf(each)) === null;
    const open = (await listPressing(store.batches)).filter(mayRun);
    const warned = new Set(open.filter(({ atRiskAt }) => atRiskAt !== null).map(({ id }) => id));
    const atRisk = batchesAtRisk(open, (orgId, model) => runTimes(this.#deps, orgId, model));
    duties.reportAtRisk(this.#modelsOf(open, new Set(atRisk)));
    capacity.setAtRisk(duties.atRisk);
    for (const id of atRisk)
      if (!isGroup(id) && !warned.has(id) && (await store.batches.markAtRisk(id, now)))
        log.warn({ batch: id }, 'a batch will miss its window');
  }

  /** Applies the models at risk that another process reports. */
  async #followRisks(): Promise<void> {
    const { duties, capacity } = this.#deps;
    if (!duties.isHolder()) capacity.setAtRisk(duties.atRisk);
  }

  /** Ids of the models of batches that could run now; a batch of several models counts for all. */
  #modelsOf(open: readonly OpenBatch[], ids: ReadonlySet<string>): Set<string> {
    const { budgets, peers } = this.#deps;
    const running = open.filter(
      ({ id, orgId, pausedAt }) => ids.has(id) && pausedAt === null && budgets.waiting(orgId) === null,
    );
    return new Set(
      running.flatMap(({ model }) => model ?? peers.list().map((served) => served.id)).map(peers.idOf),
    );
  }

  /** Purges finished batches; a failed purge does not prevent the others. */
  async #purgeFinished(): Promise<void> {
    const { store, purge } = this.#deps;
    const errors: unknown[] = [];
    for (const id of await store.results.leftovers(maxPurged))
      await purge(id).catch((error: unknown) => errors.push(error));
    if (errors.length > 0) throw errors[0];
  }

  /** Removes single requests that no request can repeat any more. */
  async #forgetRequests(): Promise<void> {
    const { store, time } = this.#deps;
    const before = firstGroupAt(time.now() - keepRequestsMs);
    while ((await store.requests.forget(before, maxForgotten)) === maxForgotten);
  }

  async #reopen(): Promise<void> {
    const { store, time, log, onWork } = this.#deps;
    const batches = await store.batches.reopen(time.now(), maxReopened);
    if (batches.length === 0) return;
    log.error({ batches }, 'the database has lost results that it had confirmed; their lines run again');
    onWork();
  }

  #follow(id: string, state: WatchedBatch | undefined): void {
    const { work, time } = this.#deps;
    if (!state) return work.stopBatch(id, 0);
    const isSuspended = state.pausedAt !== null || state.isBudgetUsedUp || state.isOrgDisabled;
    work.reorderBatch(id, state.due);
    if (state.closing === null) return isSuspended ? work.yieldBatch(id) : work.resumeBatch(id);
    if (state.closing === 'completed') return;
    // After expires_at, the batch accepts only results that are being recorded.
    const grace = state.closing === 'cancelled' ? state.acceptUntil - time.now() : 0;
    work.stopBatch(id, grace);
  }
}

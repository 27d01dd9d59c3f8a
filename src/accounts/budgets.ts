import type { Clock, Timer } from '../base/clock.ts';
import type { Log } from '../base/log.ts';
import type { Service } from '../base/service.ts';
import { nextPeriodStart, budgetExceeded, type SpentBudget, budgetExceededText } from '../core/budget.ts';
import type { Waiting } from '../core/waiting.ts';
import type { OrgStore } from '../store/contract/accounts.ts';

/** Interval at which each process reads the budgets that are used up. */
const refreshMs = 1_000;

/** Budgets that are used up, read from the ledger every second. For batches the database checks them at each claim. */
export interface Budgets extends Service {
  /** Reads the ledger now. Returns all budgets, used up or not. */
  refresh(): Promise<SpentBudget[]>;
  /** @throws ApiError `budget_exceeded` */
  require(orgId: string): void;
  /** Returns why the batches of an org wait; null if its budget is not used up. */
  waiting(orgId: string): Waiting | null;
}

export function createBudgets(deps: {
  orgs: Pick<OrgStore, 'budgets' | 'noteUsedUp'>;
  clock: Clock;
  log: Log;
}): Budgets {
  const { orgs, clock, log } = deps;
  let usedUp = new Map<string, { budget: SpentBudget; until: number | null }>();
  let timer: Timer | undefined;
  let isStopped = true;
  let readFails = false;
  let writeFails = false;
  let refreshing = Promise.resolve();

  async function refresh(): Promise<SpentBudget[]> {
    const now = clock.now();
    const budgets = await read(now);
    const isCurrent = !budgets.some((budget) => isUsedUp(budget) === (budget.usedUpAt === null));
    return isCurrent || !(await note(now)) ? budgets : read(now);
  }

  /** Stores when budgets were used up. Returns false if the database is read-only; its budgets still apply. */
  async function note(now: number): Promise<boolean> {
    try {
      await orgs.noteUsedUp(now);
      writeFails = false;
    } catch (error) {
      if (!writeFails) log.warn({ err: error }, 'could not store when budgets were used up');
      writeFails = true;
    }
    return !writeFails;
  }

  async function read(now: number): Promise<SpentBudget[]> {
    const budgets = await orgs.budgets(now);
    usedUp = new Map(
      budgets
        .filter(isUsedUp)
        .map((budget) => [budget.orgId, { budget, until: nextPeriodStart(budget, now) }]),
    );
    return budgets;
  }

  /** Last known state of an org's budget. A new period ends it at once, before the next refresh. */
  function usedUpOf(orgId: string, now: number) {
    const known = usedUp.get(orgId);
    return known && (known.until === null || now < known.until) ? known : undefined;
  }

  function schedule(): void {
    if (isStopped) return;
    timer = clock.after(refreshMs, () => {
      refreshing = refresh()
        .then(
          () => (readFails = false),
          (error: unknown) => {
            if (!readFails) log.warn({ err: error }, 'could not read which budgets are used up');
            readFails = true;
          },
        )
        .then(schedule);
    });
  }

  return {
    refresh,

    require(orgId) {
      const now = clock.now();
      const known = usedUpOf(orgId, now);
      if (known) throw budgetExceeded(known.budget, now);
    },

    waiting(orgId) {
      const now = clock.now();
      const known = usedUpOf(orgId, now);
      if (!known) return null;
      const { budget, until } = known;
      const message = budgetExceededText(budget, now);
      return { reason: 'budget', message, since: budget.usedUpAt ?? now, ...(until !== null && { until }) };
    },

    async start() {
      isStopped = false;
      await refresh();
      schedule();
    },

    async stop() {
      isStopped = true;
      timer?.cancel();
      await refreshing;
    },
  };
}

const isUsedUp = ({ amount, spent }: SpentBudget) => spent >= amount;

import type { Clock, Timer } from '../base/clock.ts';
import type { Log } from '../base/log.ts';
import type { Service } from '../base/service.ts';
import { nextPeriodStart, budgetExceeded, type SpentBudget, budgetExceededText } from '../core/budget.ts';
import type { Waiting } from '../core/waiting.ts';
import type { OrgStore } from '../store/contract/accounts.ts';

/** What every process knows of budgets that are used up is no older than this. */
const lookMs = 1_000;

/** Budgets that are used up, as the ledger said a moment ago. Batches are held back by the database itself, at the claim. */
export interface Budgets extends Service {
  /** Asks the ledger now. Returns all budgets, used up or not. */
  look(): Promise<SpentBudget[]>;
  /** @throws ApiError `budget_exceeded` */
  require(orgId: string): void;
  /** Why the batches of an org wait; null where it may spend. */
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
  let isAway = false;
  let isUnnoted = false;
  let looking = Promise.resolve();

  async function look(): Promise<SpentBudget[]> {
    const now = clock.now();
    const budgets = await ask(now);
    const isKnown = !budgets.some((budget) => isUsedUp(budget) === (budget.usedUpAt === null));
    return isKnown || !(await note(now)) ? budgets : ask(now);
  }

  /** Whether it could be written down: a database that takes no more is obeyed, and read, all the same. */
  async function note(now: number): Promise<boolean> {
    try {
      await orgs.noteUsedUp(now);
      isUnnoted = false;
    } catch (error) {
      if (!isUnnoted) log.warn({ err: error }, 'it cannot be written down since when a budget is used up');
      isUnnoted = true;
    }
    return !isUnnoted;
  }

  async function ask(now: number): Promise<SpentBudget[]> {
    const budgets = await orgs.budgets(now);
    usedUp = new Map(
      budgets
        .filter(isUsedUp)
        .map((budget) => [budget.orgId, { budget, until: nextPeriodStart(budget, now) }]),
    );
    return budgets;
  }

  /** What was said last of an org, for as long as it holds: a budget begins again before anybody has looked. */
  function usedUpOf(orgId: string, now: number) {
    const known = usedUp.get(orgId);
    return known && (known.until === null || now < known.until) ? known : undefined;
  }

  function schedule(): void {
    if (isStopped) return;
    timer = clock.after(lookMs, () => {
      looking = look()
        .then(
          () => (isAway = false),
          (error: unknown) => {
            if (!isAway) log.warn({ err: error }, 'it cannot be told whose budget is used up');
            isAway = true;
          },
        )
        .then(schedule);
    });
  }

  return {
    look,

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
      const waiting = {
        reason: 'budget',
        message: budgetExceededText(budget, now),
        since: budget.usedUpAt ?? now,
      } as const;
      return until === null ? waiting : { ...waiting, until };
    },

    async start() {
      isStopped = false;
      await look();
      schedule();
    },

    async stop() {
      isStopped = true;
      timer?.cancel();
      await looking;
    },
  };
}

const isUsedUp = ({ amount, spent }: SpentBudget) => spent >= amount;

import type { Clock } from '../base/clock.ts';
import type { Log } from '../base/log.ts';
import { createPoll } from '../base/poll.ts';
import type { Service } from '../base/service.ts';
import {
  budgetExceeded,
  budgetExceededText,
  budgetReserved,
  type BudgetOwner,
  isUsedUp,
  nextPeriodStart,
  type SpentBudget,
  spenderOf,
} from '../core/budget.ts';
import { familyOf } from '../core/key-family.ts';
import type { Waiting } from '../core/waiting.ts';
import { failureFields } from '../core/retry-log.ts';
import type { OrgStore } from '../store/contract/accounts.ts';
import { createReservations, noReservation, type Reservation } from './reservations.ts';

/** Interval at which each process reads the budgets and what is spent of them. */
const refreshMs = 1_000;

/**
 * Budgets of orgs and keys, read from the ledger every second. What this process spends in between, and what it reserves for
 * requests in flight, is added in memory, so that a hard budget is exceeded by no more than what was in flight.
 */
export interface Budgets extends Service {
  /** Reads the ledger now. Returns all budgets, used up or not. */
  refresh(): Promise<SpentBudget[]>;
  /** @throws ApiError `budget_exceeded` */
  require(owner: BudgetOwner): void;
  /**
   * Reserves the estimated cost of a request until it is charged.
   * @param estimate nano-dollars; called only if there is a budget
   * @throws ApiError `budget_exceeded`
   */
  reserve(owner: BudgetOwner, estimate: () => number): Reservation;
  /** False if nothing more may be sent for the owner until something changes. */
  hasRoom(owner: BudgetOwner): boolean;
  /** Ids of orgs and families of keys without room. */
  exhausted(): string[];
  /**
   * Returns why the batches of an org, and of a family of keys if given, wait; null if no hard budget is used up.
   * @param family as of `familyOf`
   */
  waiting(orgId: string, family?: string): Waiting | null;
  /** Calls `listener` when owners may spend again: their budget was raised or removed, or a period began. */
  onRoom(listener: () => void): void;
}

interface KnownBudget {
  budget: SpentBudget;
  /** Epoch milliseconds at which the next period starts; null if none does. */
  until: number | null;
}

export function createBudgets(deps: {
  orgs: Pick<OrgStore, 'budgets' | 'noteUsedUp'>;
  clock: Clock;
  /** Time of bills, which decides the current month. */
  billingClock: Pick<Clock, 'now'>;
  log: Log;
}): Budgets {
  const { orgs, clock, billingClock, log } = deps;
  /** By id of the org or the family of keys. */
  let known = new Map<string, KnownBudget>();
  const reservations = createReservations();
  let reads = 0;
  let applied = 0;
  let writeFails = false;
  const listeners: (() => void)[] = [];

  async function refresh(): Promise<SpentBudget[]> {
    const now = billingClock.now();
    const budgets = await read(now);
    const isCurrent = !budgets.some((budget) => isUsedUp(budget) === (budget.usedUpAt === null));
    return isCurrent || !(await note(now)) ? budgets : read(now);
  }

  /** Stores when budgets were used up. Returns false if the database is read-only; its budgets still apply. */
  async function note(billedAt: number): Promise<boolean> {
    try {
      await orgs.noteUsedUp(clock.now(), billedAt);
      writeFails = false;
    } catch (error) {
      if (!writeFails) log.warn(failureFields(error), 'could not store when budgets were used up');
      writeFails = true;
    }
    return !writeFails;
  }

  async function read(now: number): Promise<SpentBudget[]> {
    const number = ++reads;
    const isIncluded = reservations.startRead();
    const budgets = await orgs.budgets(now);
    // A read that was overtaken by a later one is outdated.
    if (number > applied) {
      applied = number;
      const before = spentOwners();
      known = new Map(
        budgets.map((budget) => [spenderOf(budget), { budget, until: nextPeriodStart(budget, now) }]),
      );
      isIncluded();
      const after = new Set(spentOwners());
      if (before.some((id) => !after.has(id))) for (const listener of listeners) listener();
    }
    return budgets;
  }

  /** Hard budgets of an owner in their current period. A new period begins at once, before the next refresh. */
  function* hardBudgets(ids: Iterable<string>, now: number): Generator<SpentBudget> {
    for (const id of ids) {
      const found = known.get(id);
      if (!found || found.budget.hard === false) continue;
      const isOver = found.until !== null && now >= found.until;
      yield isOver ? { ...found.budget, spent: 0, usedUpAt: null } : found.budget;
    }
  }

  /** Ids of the owners of used-up hard budgets, as they were read last. */
  function spentOwners(): string[] {
    return [...known].flatMap(([id, { budget }]) => (budget.hard !== false && isUsedUp(budget) ? [id] : []));
  }

  function usedUp(ids: readonly string[], now: number): SpentBudget | undefined {
    if (known.size > 0) for (const budget of hardBudgets(ids, now)) if (isUsedUp(budget)) return budget;
    return undefined;
  }

  const heldBy = (budget: SpentBudget) => reservations.of(spenderOf(budget));
  const isFull = (budget: SpentBudget) => budget.spent + heldBy(budget) >= budget.amount;

  function require(owner: BudgetOwner): void {
    if (known.size === 0) return;
    const now = billingClock.now();
    const ids = [owner.orgId, familyOf(owner)];
    const spent = usedUp(ids, now);
    if (spent) throw budgetExceeded(spent, now);
    for (const budget of hardBudgets(ids, now))
      if (isFull(budget)) throw budgetReserved(budget, heldBy(budget));
  }

  const poll = createPoll(
    clock,
    refreshMs,
    async () => void (await refresh()),
    (error) => log.warn(failureFields(error), 'could not read which budgets are used up'),
  );

  return {
    ...poll,
    refresh,
    require,
    onRoom: (listener) => void listeners.push(listener),

    reserve(owner, estimate) {
      if (known.size === 0) return noReservation;
      require(owner);
      const ids = [owner.orgId, familyOf(owner)].filter((id) => known.has(id));
      return ids.length === 0 ? noReservation : reservations.add(ids, estimate());
    },

    hasRoom(owner) {
      if (known.size === 0) return true;
      for (const budget of hardBudgets([owner.orgId, familyOf(owner)], billingClock.now()))
        if (isFull(budget)) return false;
      return true;
    },

    exhausted() {
      const now = billingClock.now();
      return [...hardBudgets(known.keys(), now)].filter(isFull).map(spenderOf);
    },

    waiting(orgId, family) {
      const now = billingClock.now();
      const budget = usedUp(family === undefined ? [orgId] : [orgId, family], now);
      if (!budget) return null;
      const until = nextPeriodStart(budget, now);
      const message = budgetExceededText(budget, now);
      return {
        reason: 'budget',
        message,
        since: budget.usedUpAt ?? clock.now(),
        ...(until !== null && { until }),
      };
    },
  };
}

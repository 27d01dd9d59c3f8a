import { dayMs, hourMs, sleep, utcDay, utcHour } from '../base/clock.ts';
import type { Log } from '../base/log.ts';
import type { Service } from '../base/service.ts';
import type { Duties } from '../core/duties.ts';
import { hourlyDays } from '../core/usage-report.ts';
import type { LedgerStore } from '../store/contract/accounts.ts';
import type { BillingClock } from './billing-clock.ts';
import type { ReportGate } from './report-gate.ts';

/** Interval at which a process looks for rows. */
const everyMs = 600_000;
/** Rows per transaction, and the pause after one, so that other statements come between. */
const rowsAtOnce = 250;
const pauseMs = 50;
/** Time after which no process repeats a commit of charges. */
const writersMs = 7 * dayMs;
/** Time after its end for which an hour is likely to have more charges. They may come later, too. */
const quietMs = hourMs;
/** Time for which a process of an earlier version may stand still and return. */
const standstillMs = dayMs;

/** First day whose usage is known by the hour. */
export function firstHourlyDay(now: number): string {
  return utcDay(now - hourlyDays * dayMs);
}

/**
 * Adds ledger rows of past hours to the sums by day and month, and after 40 days rolls them up into rows by the day, a few at a time.
 * A clock that may be wrong has to wait, because hours cannot be taken back. Also forgets processes that have not written to the ledger
 * for a week.
 */
export function createRollUp({
  ledger,
  reports,
  clock,
  duties,
  log,
}: {
  ledger: Pick<LedgerStore, 'addToSums' | 'rollUp' | 'forgetWriters'>;
  reports: Pick<ReportGate, 'rollUp'>;
  clock: BillingClock;
  /** The holder rolls up. */
  duties: Pick<Duties, 'isHolder'>;
  log: Log;
}): Service {
  const stopping = new AbortController();
  let running: Promise<void> | undefined;

  const mayRun = () => clock.isTrusted && duties.isHolder();

  /** Repeats `write`, which returns the number of rows taken, until none are left. */
  async function repeat(write: () => Promise<number>): Promise<void> {
    while (mayRun() && !stopping.signal.aborted && (await reports.rollUp(write)) === rowsAtOnce)
      await sleep(clock, pauseMs, stopping.signal);
  }

  async function run(): Promise<void> {
    while (!stopping.signal.aborted) {
      try {
        const now = clock.now();
        await repeat(() => ledger.addToSums(utcHour(now - quietMs), rowsAtOnce, now - standstillMs));
        await repeat(() => ledger.rollUp(firstHourlyDay(now), rowsAtOnce));
        if (mayRun()) await ledger.forgetWriters(clock.now() - writersMs, clock.now());
      } catch (error) {
        log.warn({ err: error }, 'usage could not be rolled up; trying again later');
      }
      await sleep(clock, everyMs, stopping.signal);
    }
  }

  return {
    start() {
      running = sleep(clock, pauseMs, stopping.signal).then(run);
      return Promise.resolve();
    },
    async stop() {
      stopping.abort();
      await running;
    },
  };
}

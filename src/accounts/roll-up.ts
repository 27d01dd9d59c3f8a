import { dayMs, sleep, utcDay } from '../base/clock.ts';
import type { Log } from '../base/log.ts';
import type { Service } from '../base/service.ts';
import type { Duties } from '../core/duties.ts';
import { hourlyDays } from '../core/usage-report.ts';
import type { LedgerStore } from '../store/contract/accounts.ts';
import type { BillingClock } from './billing-clock.ts';
import type { ReportGate } from './report-gate.ts';

/** Interval at which a process looks for old rows. */
const everyMs = 600_000;
/** Rows per transaction, and the pause after one, so that other statements come between. */
const rowsAtOnce = 250;
const pauseMs = 50;
/** Time after which no process repeats a commit of charges. */
const writersMs = 7 * dayMs;

/** First day whose usage is known by the hour. */
export function firstHourlyDay(now: number): string {
  return utcDay(now - hourlyDays * dayMs);
}

/**
 * Rolls ledger rows by the hour up into rows by the day after 40 days, a few at a time. A clock that may be wrong has to wait, because
 * hours cannot be taken back. Also forgets processes that have not written to the ledger for a week.
 */
export function createRollUp({
  ledger,
  reports,
  clock,
  duties,
  log,
}: {
  ledger: Pick<LedgerStore, 'rollUp' | 'forgetWriters'>;
  reports: Pick<ReportGate, 'rollUp'>;
  clock: BillingClock;
  /** The holder rolls up. */
  duties: Pick<Duties, 'isHolder'>;
  log: Log;
}): Service {
  const stopping = new AbortController();
  let running: Promise<void> | undefined;

  async function run(): Promise<void> {
    while (!stopping.signal.aborted) {
      try {
        const before = firstHourlyDay(clock.now());
        const mayRun = () => clock.isTrusted && duties.isHolder();
        while (
          mayRun() &&
          !stopping.signal.aborted &&
          (await reports.rollUp(() => ledger.rollUp(before, rowsAtOnce))) === rowsAtOnce
        )
          await sleep(clock, pauseMs, stopping.signal);
        if (mayRun()) await ledger.forgetWriters(clock.now() - writersMs, clock.now());
      } catch (error) {
        log.warn({ err: error }, 'old usage could not be rolled up by day; trying again later');
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

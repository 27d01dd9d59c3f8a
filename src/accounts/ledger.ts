import { type Clock, sleep, type Timer, utcDay } from '../base/clock.ts';
import type { Log } from '../base/log.ts';
import { cost } from '../core/price.ts';
import type { LedgerRow, LedgerStore } from '../store/contract/accounts.ts';
import type { Accounts } from './accounts.ts';

const groupRows = 256;
const groupMs = 50;
/** Waits before writing a group again. A row that was written after all is not billed twice: its source is unique. */
const retryMs = [100, 400, 1600];
/** Between further tries, while the database is away. */
const awayMs = 5_000;
/** What waits for a database that is away: 20 MB at most. */
const maxWaiting = 50_000;

export interface LedgerDeps {
  ledger: LedgerStore;
  clock: Clock;
  log: Log;
  /** Whether what the ledger threw is the fault of a database that cannot be used at present, and not of the rows. */
  isAway: (error: unknown) => Promise<boolean>;
}

/**
 * Synchronous requests in the ledger. Charges wait for company, 256 of them or 50 ms, and are written in one
 * transaction, one group after the other; while the database is away they wait until it is back. What waits is the rows
 * alone: whatever else a charge held, a busy server would hold hundreds of.
 */
export function createLedger({ ledger, clock, log, isAway }: LedgerDeps) {
  /** Those that wait for company, and those that are to be written. */
  let young: LedgerRow[] = [];
  const due: LedgerRow[] = [];
  let timer: Timer | undefined;
  let writing: Promise<void> | undefined;
  const stopping = new AbortController();

  function giveUp(rows: LedgerRow[], error: unknown): void {
    // The requests are named, so that what was served can be billed by hand.
    const requests = rows.map((row) => row.sourceId);
    log.error({ err: error, requests }, 'requests were served but could not be entered in the ledger');
  }

  /** Until it succeeds, is refused, or the process stops while the database is away. */
  async function writeGroup(rows: LedgerRow[]): Promise<void> {
    for (let tries = 0; ; tries++) {
      try {
        return await ledger.add(rows);
      } catch (error) {
        const wait = retryMs[tries];
        if (wait === undefined && !(await isAway(error))) return giveUp(rows, error);
        if (wait === undefined && stopping.signal.aborted) return giveUp([...rows, ...due.splice(0)], error);
        log.warn({ err: error, rows: rows.length }, 'could not write to the ledger, trying again');
        if (wait !== undefined) await sleep(clock, wait);
        else {
          await sleep(clock, awayMs, stopping.signal);
          // A database that is back may still refuse at first.
          if (!stopping.signal.aborted) tries = -1;
        }
      }
    }
  }

  async function write(): Promise<void> {
    while (due.length > 0) await writeGroup(due.splice(0, groupRows));
    writing = undefined;
  }

  async function flush(): Promise<void> {
    timer?.cancel();
    timer = undefined;
    const rows = young;
    young = [];
    if (due.length + rows.length > maxWaiting) giveUp(rows, new Error('too many wait for the database'));
    else due.push(...rows);
    // What was never begun would count as under way for ever.
    if (due.length > 0) writing ??= write();
    await writing;
  }

  return {
    charge({ caller, requestId, model, usage, prices }: Parameters<Accounts['charge']>[0]): void {
      young.push({
        sourceId: requestId,
        orgId: caller.orgId,
        keyId: caller.keyId,
        model,
        day: utcDay(clock.now()),
        requests: 1,
        usage,
        amount: Number(cost(usage, prices)),
      });
      if (stopping.signal.aborted || young.length >= groupRows) void flush();
      else timer ??= clock.after(groupMs, () => void flush());
    },
    /** Writes what waits; charges that come later are written at once. */
    stop() {
      stopping.abort();
      return flush();
    },
  };
}

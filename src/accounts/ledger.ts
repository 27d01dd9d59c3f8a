import { type Clock, sleep, type Timer, utcDay } from '../base/clock.ts';
import type { Log } from '../base/log.ts';
import { cost } from '../core/price.ts';
import type { LedgerRow, LedgerStore } from '../store/contract/accounts.ts';
import type { Accounts } from './accounts.ts';

const groupRows = 256;
const groupMs = 50;
/** Back-off between attempts. A row that a failed attempt did write is not billed twice, because its source is unique. */
const retryMs = [100, 400, 1600];
/** Interval of further attempts while the database is unavailable. */
const awayMs = 5_000;
/** Maximum rows that wait for an unavailable database, about 20 MB. */
const maxWaiting = 50_000;

export interface LedgerDeps {
  ledger: LedgerStore;
  clock: Clock;
  log: Log;
  /** True if the ledger's error means that the database is unavailable, false if it rejected the rows. */
  isAway: (error: unknown) => Promise<boolean>;
}

/**
 * Group commit of the charges for synchronous requests: up to 256 of them, or those of 50 ms, in one transaction. Groups are written
 * one after another and wait while the database is unavailable. A waiting charge holds only its row, to save memory.
 */
export function createLedger({ ledger, clock, log, isAway }: LedgerDeps) {
  /** The open group, and the rows of closed groups. */
  let open: LedgerRow[] = [];
  const due: LedgerRow[] = [];
  let timer: Timer | undefined;
  let writing: Promise<void> | undefined;
  const stopping = new AbortController();

  function giveUp(rows: LedgerRow[], error: unknown): void {
    // The log names the requests, so that they can be billed by hand.
    const requests = rows.map((row) => row.sourceId);
    log.error({ err: error, requests }, 'requests were served but could not be added to the ledger');
  }

  /** Tries until the database accepts or rejects the rows, or the process stops while it is unavailable. */
  async function writeGroup(rows: LedgerRow[]): Promise<void> {
    for (let tries = 0; ; tries++) {
      try {
        return await ledger.add(rows);
      } catch (error) {
        const wait = retryMs[tries];
        if (wait === undefined && !(await isAway(error))) return giveUp(rows, error);
        if (wait === undefined && stopping.signal.aborted) return giveUp([...rows, ...due.splice(0)], error);
        log.warn({ err: error, rows: rows.length }, 'could not write to the ledger; trying again');
        if (wait !== undefined) await sleep(clock, wait);
        else {
          await sleep(clock, awayMs, stopping.signal);
          // A database that just came back may still reject statements, so the back-off starts again.
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
    const rows = open;
    open = [];
    if (due.length + rows.length > maxWaiting)
      giveUp(rows, new Error('too many charges wait for the database'));
    else due.push(...rows);
    // `write` with nothing due would end before the assignment, which then would never be cleared.
    if (due.length > 0) writing ??= write();
    await writing;
  }

  return {
    charge({ caller, requestId, model, usage, prices }: Parameters<Accounts['charge']>[0]): void {
      open.push({
        sourceId: requestId,
        orgId: caller.orgId,
        keyId: caller.keyId,
        model,
        day: utcDay(clock.now()),
        requests: 1,
        usage,
        amount: Number(cost(usage, prices)),
      });
      if (stopping.signal.aborted || open.length >= groupRows) void flush();
      else timer ??= clock.after(groupMs, () => void flush());
    },
    /** Writes the waiting charges. Later ones are written at once. */
    stop() {
      stopping.abort();
      return flush();
    },
  };
}

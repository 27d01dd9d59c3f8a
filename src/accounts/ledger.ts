import { type Clock, sleep, type Timer, utcDay } from '../base/clock.ts';
import type { Log } from '../base/log.ts';
import { cost } from '../core/price.ts';
import type { LedgerRow, LedgerStore } from '../store/contract/accounts.ts';
import type { Accounts } from './accounts.ts';

const groupRows = 256;
const groupMs = 50;
/** Waits before writing a group again. A row that was written after all is not billed twice: its source is unique. */
const retryMs = [100, 400, 1600];

export interface Ledger {
  charge: Accounts['charge'];
  /** Writes what waits; charges that come later are written at once. */
  stop(): Promise<void>;
}

/**
 * Synchronous requests in the ledger. Charges wait for company, 256 of them or 50 ms, and are written in one
 * transaction, one group after the other. What waits is the rows alone: whatever else a charge held, a busy server would hold
 * hundreds of.
 */
export function createLedger(deps: { ledger: LedgerStore; clock: Clock; log: Log }): Ledger {
  const { ledger, clock, log } = deps;
  let waiting: LedgerRow[] = [];
  let timer: Timer | undefined;
  let writing = Promise.resolve();
  let stopped = false;

  async function writeRows(rows: LedgerRow[]): Promise<void> {
    for (const wait of retryMs) {
      try {
        return await ledger.add(rows);
      } catch (error) {
        log.warn({ err: error, rows: rows.length }, 'could not write to the ledger, trying again');
        await sleep(clock, wait);
      }
    }
    await ledger.add(rows);
  }

  async function writeGroup(group: LedgerRow[]): Promise<void> {
    try {
      await writeRows(group);
    } catch (error) {
      // The requests are named, so that what was served can be billed by hand.
      const requests = group.map((row) => row.sourceId);
      log.error({ err: error, requests }, 'requests were served but could not be entered in the ledger');
    }
  }

  function flush(): Promise<void> {
    timer?.cancel();
    timer = undefined;
    const group = waiting;
    waiting = [];
    if (group.length > 0) writing = writing.then(() => writeGroup(group));
    return writing;
  }

  return {
    charge({ caller, requestId, model, usage, prices }) {
      waiting.push({
        sourceId: requestId,
        orgId: caller.orgId,
        model,
        day: utcDay(clock.now()),
        requests: 1,
        usage,
        amount: Number(cost(usage, prices)),
      });
      if (stopped || waiting.length >= groupRows) void flush();
      else timer ??= clock.after(groupMs, () => void flush());
    },
    stop() {
      stopped = true;
      return flush();
    },
  };
}

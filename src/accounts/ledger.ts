import { type Clock, sleep, type Timer, utcHour } from '../base/clock.ts';
import type { Log } from '../base/log.ts';
import { addCosts, ceilCost, exactCost, formatDollars, roundCost } from '../core/price.ts';
import { createRetryLog } from '../core/retry-log.ts';
import { singlesOf } from '../core/usage-report.ts';
import { addUsage } from '../core/usage.ts';
import type { LedgerCommit, LedgerEntry, LedgerStore } from '../store/contract/accounts.ts';
import type { Accounts } from './accounts.ts';
import { noReservation, type Reservation } from './reservations.ts';
import { createTagLimit } from './tag-limit.ts';

const groupMs = 50;
/** Back-off between attempts. */
const retryMs = [100, 400, 1600];
/** Interval of further attempts while the database is unavailable. */
const awayMs = 5_000;
/** Maximum entries that wait for an unavailable database, about 20 MB. */
const maxWaiting = 50_000;
const messages = {
  failed: 'could not write to the ledger; trying again',
  succeeded: 'the ledger is written again',
};

export interface LedgerDeps {
  ledger: Pick<LedgerStore, 'add'>;
  /** Id of this process in the ledger. */
  writer: string;
  /** Time of charges. */
  clock: Clock;
  log: Log;
  /** True if the ledger's error means that the database is unavailable, false if it rejected the entries. */
  isDatabaseDown: (error: unknown) => Promise<boolean>;
}

/**
 * Charges for synchronous requests, added up by hour, key, model, endpoint and tag, and written every 50 ms in one transaction. A
 * commit is numbered, so that a repeated one is not billed twice. Commits are written one after another; while the database is
 * unavailable, charges go on adding up in the next one.
 */
export function createLedger({ ledger, writer, clock, log, isDatabaseDown }: LedgerDeps) {
  let open = new Map<string, LedgerEntry>();
  /** Reservations of the charges in `open`. */
  let reservations: Reservation[] = [];
  let number = 0;
  let timer: Timer | undefined;
  let writing: Promise<void> | undefined;
  const tags = createTagLimit();
  const stopping = new AbortController();
  const failures = createRetryLog(log, messages, 'warn');

  function giveUp(entries: readonly LedgerEntry[], error: unknown): void {
    // The log has the sums, so that they can be billed by hand.
    const charges = entries.map(({ usage, cost, ...fields }) => ({
      ...fields,
      ...usage,
      amount: formatDollars(BigInt(roundCost(cost))),
    }));
    log.error({ err: error, charges }, 'requests were served but could not be added to the ledger');
  }

  /** Tries until the database accepts or rejects the entries, or the process stops while it is unavailable. */
  async function writeCommit(entries: LedgerEntry[], commit: LedgerCommit): Promise<void> {
    for (let tries = 0; ; tries++) {
      try {
        await ledger.add(entries, commit);
        return failures.succeeded();
      } catch (error) {
        const wait = retryMs[tries];
        if (wait === undefined && !(await isDatabaseDown(error))) return giveUp(entries, error);
        if (wait === undefined && stopping.signal.aborted) return giveUp([...entries, ...takeOpen()], error);
        failures.failed(error, { entries: entries.length });
        if (wait !== undefined) await sleep(clock, wait);
        else {
          await sleep(clock, awayMs, stopping.signal);
          // A database that just came back may still reject statements, so the back-off starts again.
          if (!stopping.signal.aborted) tries = -1;
        }
      }
    }
  }

  function takeOpen(): LedgerEntry[] {
    const entries = [...open.values()];
    open = new Map();
    return entries;
  }

  async function write(): Promise<void> {
    const settling = reservations;
    reservations = [];
    await writeCommit(takeOpen(), { writer, number: ++number, at: clock.now() });
    for (const reservation of settling) reservation.settle();
    writing = undefined;
  }

  async function flush(): Promise<void> {
    timer?.cancel();
    timer = undefined;
    await writing;
    if (open.size > 0) writing ??= write();
    await writing;
    // Otherwise charges that came meanwhile have a timer: under load, commits would follow one another without a pause.
    if (stopping.signal.aborted && open.size > 0) await flush();
  }

  function add(entry: LedgerEntry): void {
    const { sourceId, model, day, usage, cost } = entry;
    const name = `${sourceId} ${model} ${day}`;
    const known = open.get(name);
    if (known) {
      known.requests++;
      known.usage = addUsage(known.usage, usage);
      known.cost = addCosts(known.cost, cost);
    } else if (open.size >= maxWaiting) giveUp([entry], new Error('too many charges wait for the database'));
    else open.set(name, entry);
  }

  return {
    charge({
      caller,
      model,
      endpoint,
      tag,
      usage,
      prices,
      reservation,
    }: Parameters<Accounts['charge']>[0]): void {
      const { orgId, keyId, keyFamily = null } = caller;
      const day = utcHour(clock.now());
      const source = { keyId, endpoint, tag: tags.admit(orgId, day, tag) };
      const cost = exactCost(usage, prices);
      reservation.charge(ceilCost(cost));
      if (reservation !== noReservation) reservations.push(reservation);
      add({ ...source, sourceId: singlesOf(source), orgId, keyFamily, model, day, requests: 1, usage, cost });
      if (stopping.signal.aborted) void flush();
      else timer ??= clock.after(groupMs, () => void flush());
    },
    /** Writes the waiting charges. Later ones are written at once. */
    stop() {
      stopping.abort();
      return flush();
    },
  };
}

import type { Db, Queries } from '../../db.ts';
import type { LedgerCommit, LedgerStore } from '../../contract/accounts.ts';
import { addToLedger, ledgerRows } from './ledger-rows.ts';
import { rollUp } from './roll-up.ts';
import { sumLedger } from './sum-ledger.ts';
import { sumUsage } from './usage-report.ts';

export function createLedger(db: Db): LedgerStore {
  return {
    add: (entries, commit) =>
      db.tx(async (q) => {
        if (await begin(q, commit)) await addToLedger(q, entries);
      }),
    forgetWriters: (before, now) => forgetWriters(db, before, now),
    addToSums: (before, limit, upgradedBefore) => sumLedger(db, before, limit, upgradedBefore),
    rollUp: (day, limit) => rollUp(db, day, limit),
    newest: () => newest(db),
    forSources: (sourceIds) => ledgerRows(db, sourceIds),
    usage: (query, from) => sumUsage(db, query, from),
  };
}

/** Rows by the hour have an index by day. Without any, the monthly sums still show it. */
async function newest(db: Db): Promise<string | null> {
  type Found = { at: string | null };
  const [hourly] = await db.all<Found>(
    `SELECT max(at) AS at FROM (SELECT max(day) AS at FROM usage_ledger WHERE rolled_up < 2
     UNION ALL SELECT max(day) AS at FROM usage_ledger WHERE rolled_up = 2) AS newest`,
  );
  if (hourly?.at) return hourly.at;
  const [monthly] = await db.all<Found>('SELECT max(month) AS at FROM spending');
  return monthly?.at ?? null;
}

/** Records the number of a commit. False if it, or a later one of the writer, is recorded already. */
async function begin(q: Queries, { writer, number, at }: LedgerCommit): Promise<boolean> {
  const recorded = await q.all(
    `INSERT INTO ledger_writers (id, last_commit, written_at) VALUES (?, ?, ?)
     ON CONFLICT (id) DO UPDATE SET last_commit = excluded.last_commit, written_at = excluded.written_at
       WHERE ledger_writers.last_commit < excluded.last_commit
     RETURNING id`,
    [writer, number, at],
  );
  return recorded.length > 0;
}

/** Removes writers without a commit since `before`. Those of earlier versions have no time, and get `now`. */
async function forgetWriters(db: Db, before: number, now: number): Promise<void> {
  await db.all('DELETE FROM ledger_writers WHERE written_at < ?', [before]);
  await db.all('UPDATE ledger_writers SET written_at = ? WHERE written_at IS NULL', [now]);
}

import type { DutyStore } from '../../contract/duties.ts';
import type { Db } from '../../db.ts';

/** A row instead of a lock of the session, which a pooler in transaction mode does not keep. */
export function createDuties(db: Db): DutyStore {
  return {
    async hold(worker, { lifeMs, mayTake, atRisk }) {
      const now = await db.now();
      if (mayTake)
        await db.all(
          `INSERT INTO duties (name, owner, until, at_risk) VALUES ('all', ?, ?, ?)
           ON CONFLICT (name) DO UPDATE SET owner = excluded.owner, until = excluded.until, at_risk = excluded.at_risk
           WHERE duties.owner = excluded.owner OR duties.until <= ?`,
          [worker, now + lifeMs, JSON.stringify(atRisk), now],
        );
      else await db.all('DELETE FROM duties WHERE owner = ?', [worker]);
      const [held] = await db.all<{ owner: string; at_risk: string }>(
        'SELECT owner, at_risk FROM duties WHERE until > ?',
        [now],
      );
      return { isHolder: held?.owner === worker, atRisk: held ? (JSON.parse(held.at_risk) as string[]) : [] };
    },
  };
}

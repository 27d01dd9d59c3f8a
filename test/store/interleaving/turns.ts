import { setTimeout } from 'node:timers/promises';
import type { Client } from 'pg';
import type { Db, Queries } from '../../../src/store/db.ts';
import type { SeededRandom } from '../../support/seeded-random.ts';

/** Rewrites a statement before it is sent: a bug planted into the SQL. */
export type Rewrite = (sql: string) => string;

/** True for a statement of a transaction to be sent outside it: a bug planted into the order of statements. */
export type Outside = (sql: string) => boolean;

interface Waiting {
  actor: number;
  sql: string;
  go: () => void;
  stop: (error: Error) => void;
}

/** Time after which a statement is suspected to wait for a lock; the check takes about as long as a statement. */
const graceMs = 3;

/**
 * Schedules several actors on a real Postgres, statement by statement: one runs until its next statement, or until it waits
 * for a row lock. Random numbers thus decide the order of statements and commits, while locks and snapshots are those of the
 * server. When a transaction ends, the server wakes all waiters of a row, and the fastest gets it; here all but the longest
 * waiting one are suspended first, so that a seed nearly always repeats. (Without ORDER BY, the server may return rows in
 * any order.)
 */
export class Turns {
  #random: SeededRandom;
  #monitor: Client;
  #waiting: Waiting[] = [];
  /** Actors whose statement is in flight or waits for a lock, with the statement. */
  #running = new Map<number, string>();
  /** True if a commit may have happened since the last check. */
  #committed = false;
  #arrived = () => {};
  #stopped = false;
  /** Statements sent so far, which is the time of the actors. */
  count = 0;
  /** Statements of transactions in a deadlock that the server broke. */
  readonly deadlocks: string[] = [];
  /** Suspended server processes. */
  #suspended = new Set<number>();

  constructor(random: SeededRandom, monitor: Client) {
    this.#random = random;
    this.#monitor = monitor;
  }

  /** Database of one actor, whose every statement and commit waits for its turn. */
  seenBy(actor: number, inner: Db, rewrite: Rewrite, isOutside: Outside): Db {
    const queries = (q: Queries): Queries => ({
      ...q,
      all: async (sql, params) => {
        await this.#turn(actor, sql);
        if (q === inner && !isRead(sql)) this.#committed = true;
        return (isOutside(sql) && q !== inner ? inner : q).all(rewrite(sql), params);
      },
    });
    return {
      ...inner,
      ...queries(inner),
      tx: (work) =>
        inner.tx(async (q) => {
          const result = await work(queries(q));
          await this.#turn(actor, 'COMMIT');
          this.#committed = true;
          return result;
        }),
      now: async () => this.count,
    };
  }

  /** Runs the scripts of the actors 0, 1, ... to their ends; calls `look` after each possible commit. */
  async run(scripts: readonly (() => Promise<void>)[], look: () => Promise<void>): Promise<void> {
    const failed: unknown[] = [];
    const ends = scripts.map((script, actor) =>
      this.#turn(actor, '')
        .then(script)
        .catch((error: unknown) => failed.push(error))
        .finally(() => {
          this.#running.delete(actor);
          this.#arrived();
        }),
    );
    try {
      await this.#decide(failed, look);
    } finally {
      // Open transactions roll back, so no lock stays.
      this.#stopped = true;
      for (const pid of this.#suspended) this.#resume(pid);
      for (const { stop } of this.#waiting) stop(new Error('stopped'));
      await Promise.all(ends);
    }
  }

  async #decide(failed: readonly unknown[], look: () => Promise<void>): Promise<void> {
    for (;;) {
      await this.#settled();
      if (failed.length > 0) throw failed[0];
      if (this.#waiting.length === 0) return;
      if (this.#committed) await look();
      this.#committed = false;
      this.#waiting.sort((a, b) => a.actor - b.actor);
      const [next] = this.#waiting.splice(this.#random.int(0, this.#waiting.length - 1), 1);
      this.#running.set(next!.actor, next!.sql);
      this.count++;
      if (next!.sql === 'COMMIT') await this.#suspendWaiters();
      next!.go();
      for (const pid of this.#suspended) {
        await this.#settled();
        this.#resume(pid);
      }
    }
  }

  /** Suspends all waiters for a lock but the longest waiting one. */
  async #suspendWaiters(): Promise<void> {
    if (this.#running.size <= 2) return;
    for (const pid of (await this.#blocked()).slice(1)) {
      process.kill(pid, 'SIGSTOP');
      this.#suspended.add(pid);
    }
  }

  #resume(pid: number): void {
    this.#suspended.delete(pid);
    process.kill(pid, 'SIGCONT');
  }

  #turn(actor: number, sql: string): Promise<void> {
    return new Promise((go, stop) => {
      if (this.#stopped) return stop(new Error('stopped'));
      this.#waiting.push({ actor, sql, go, stop });
      this.#running.delete(actor);
      this.#arrived();
    });
  }

  /** Waits until every actor waits for a turn or a lock. The server resolves deadlocks. */
  async #settled(): Promise<void> {
    while (this.#running.size > 0) {
      const running = [...this.#running];
      const arrival = new Promise<void>((resolve) => (this.#arrived = resolve));
      await Promise.race([arrival, setTimeout(graceMs)]);
      if (this.#running.size < running.length) continue;
      const held = new Set([...(await this.#blocked()), ...this.#suspended]);
      if (held.size < running.length || this.#running.size < running.length) continue;
      if (this.#waiting.length > 0 || this.#suspended.size > 0) return;
      if (this.deadlocks.length === 0)
        this.deadlocks.push(...running.map(([actor, sql]) => `${actor}: ${sql}`));
      await arrival;
    }
  }

  /** Server processes that wait for a lock, the longest waiting first. */
  async #blocked(): Promise<number[]> {
    const { rows } = await this.#monitor.query<{ pid: number }>({
      name: 'blocked',
      text: `SELECT pid FROM pg_stat_activity a WHERE datname = current_database()
        AND wait_event_type = 'Lock' AND cardinality(pg_blocking_pids(pid)) > 0
        ORDER BY (SELECT min(waitstart) FROM pg_locks l WHERE l.pid = a.pid AND NOT granted)`,
    });
    return rows.map(({ pid }) => pid);
  }
}

function isRead(sql: string): boolean {
  return !/\b(INSERT|UPDATE|DELETE)\b/.test(sql);
}

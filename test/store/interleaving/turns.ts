import { setTimeout } from 'node:timers/promises';
import type { Client } from 'pg';
import type { Db, Queries } from '../../../src/store/db.ts';
import type { SeededRandom } from '../../support/seeded-random.ts';

/** Statements as an actor's connection sends them: a bug planted into the SQL. */
export type Rewrite = (sql: string) => string;

/** Whether a statement of a transaction is sent outside of it: a bug planted into the order of things. */
export type Outside = (sql: string) => boolean;

interface Waiting {
  actor: number;
  sql: string;
  go: () => void;
  stop: (error: Error) => void;
}

/** A statement that is not over by then may wait for a lock; asking for that takes as long as most statements do. */
const graceMs = 3;

/**
 * Decides, statement by statement, which of several actors goes on at a real Postgres: one at a time, until it comes to its
 * next statement or waits for a row that another has locked. So the order in which statements and commits take effect is
 * decided by the random numbers given, and the locks, snapshots and second looks are those of the server. Of those who wait
 * for one row the server wakes several at once when its transaction ends, and whoever is quicker has it: here the others stand
 * still until the one who waited longest has gone on, so that a seed nearly always repeats itself. (The server is free to give
 * rows in any order where none was asked for.)
 */
export class Turns {
  #random: SeededRandom;
  #monitor: Client;
  #waiting: Waiting[] = [];
  /** Actors whose statement is on its way or waits for a lock, and the statement. */
  #running = new Map<number, string>();
  /** Whether something may have been committed since it was looked. */
  #committed = false;
  #arrived = () => {};
  #stopped = false;
  /** Statements sent so far: the time that actors know. */
  count = 0;
  /** What was sent where transactions waited for each other, until the server broke one off. */
  readonly deadlocks: string[] = [];
  /** Server processes that stand still. */
  #still = new Set<number>();

  constructor(random: SeededRandom, monitor: Client) {
    this.#random = random;
    this.#monitor = monitor;
  }

  /** The database as one actor sees it, whose every statement and commit awaits its turn. */
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

  /** Runs the scripts of the actors 0, 1, ... to their ends; `look` is called whenever something may have been committed. */
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
      // Whatever was begun is undone: nobody keeps his locks.
      this.#stopped = true;
      for (const pid of this.#still) this.#goOn(pid);
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
      if (next!.sql === 'COMMIT') await this.#holdBack();
      next!.go();
      for (const pid of this.#still) {
        await this.#settled();
        this.#goOn(pid);
      }
    }
  }

  /** Keeps all from going on that wait for a lock, but the one that has waited longest. */
  async #holdBack(): Promise<void> {
    if (this.#running.size <= 2) return;
    for (const pid of (await this.#blocked()).slice(1)) {
      process.kill(pid, 'SIGSTOP');
      this.#still.add(pid);
    }
  }

  #goOn(pid: number): void {
    this.#still.delete(pid);
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

  /** Until everybody either awaits a turn or a lock. Those who all wait for each other the server helps out. */
  async #settled(): Promise<void> {
    while (this.#running.size > 0) {
      const running = [...this.#running];
      const arrival = new Promise<void>((resolve) => (this.#arrived = resolve));
      await Promise.race([arrival, setTimeout(graceMs)]);
      if (this.#running.size < running.length) continue;
      const held = new Set([...(await this.#blocked()), ...this.#still]);
      if (held.size < running.length || this.#running.size < running.length) continue;
      if (this.#waiting.length > 0 || this.#still.size > 0) return;
      if (this.deadlocks.length === 0)
        this.deadlocks.push(...running.map(([actor, sql]) => `${actor}: ${sql}`));
      await arrival;
    }
  }

  /** The server processes that wait for a lock which somebody holds, longest first. */
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

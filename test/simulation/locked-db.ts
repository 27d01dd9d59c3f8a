import type { Db, Queries, Value } from '../../src/store/db.ts';
import type { Operation } from './store-view.ts';

/** Marks statements that take row locks: SQLite has none and reads a comment. */
const lock = '/* locked */';

/** Statements that require locks on the batches in their parameters. */
const needsLock = [
  /^\s*INSERT INTO batch_results/,
  /SET state = 'leased'/,
  /UPDATE batches SET ok = counted/,
];
const namesBatch = (value: Value) => typeof value === 'string' && /^batch_[0-9a-f]{8}/.test(value);

/** Rewrites the statements of an operation, to plant a bug into the SQL. */
export type Rewrite = (sql: string, operation: Operation) => string;

export interface LockedDb {
  db: Db;
  rewrite: Rewrite | undefined;
  /** Operation in progress. */
  operation: Operation;
  /** Receives the report of a write without its lock. */
  tell: (what: string) => void;
}

/** Use of row locks by a statement, derived from its text. */
interface Role {
  locks: boolean;
  needs: boolean;
}

/**
 * Checks the one rule of row locks that SQLite, with its single writer, cannot break: a transaction locks a batch before it
 * numbers and counts its results or leases its chunks.
 */
export function watchLocks(inner: Db): LockedDb {
  const roles = new Map<string, Role>();
  const roleOf = (sql: string): Role => {
    let role = roles.get(sql);
    if (!role) {
      const locks = sql.includes('FROM batches') && sql.includes(lock);
      role = { locks, needs: needsLock.some((statement) => statement.test(sql)) };
      roles.set(sql, role);
    }
    return role;
  };
  const require = (sql: string, params: readonly Value[], locked?: ReadonlySet<Value>) => {
    const id = params.find((value) => namesBatch(value) && !locked?.has(value));
    if (id !== undefined) self.tell(`${String(id)} is not locked by: ${sql.trim()}`);
  };
  const rewritten = (sql: string) => self.rewrite?.(sql, self.operation) ?? sql;

  const self: LockedDb = {
    rewrite: undefined,
    operation: '',
    tell: () => {},
    db: {
      ...inner,
      forUpdate: lock,
      all: (asked, params) => {
        const sql = rewritten(asked);
        if (roleOf(sql).needs) require(sql, params ?? []);
        return inner.all(sql, params);
      },
      tx: (work) =>
        inner.tx((q) => {
          const locked = new Set<Value>();
          const queries: Queries = {
            ...q,
            forUpdate: lock,
            skipLocked: lock,
            all: (asked, params = []) => {
              const sql = rewritten(asked);
              const { locks, needs } = roleOf(sql);
              if (locks) for (const id of params) locked.add(id);
              if (needs) require(sql, params, locked);
              return q.all(sql, params);
            },
          };
          return work(queries);
        }),
    },
  };
  return self;
}

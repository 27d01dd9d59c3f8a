import type { Db, Queries, Value } from '../../src/store/db.ts';
import type { Operation } from './store-view.ts';

/** Stands for the row lock of a database that has them: SQLite needs none and sees a comment. */
const lock = '/* locked */';

/** Statements that rely on the locks of the batches that their parameters name. */
const needsLock = [
  /^\s*INSERT INTO batch_results/,
  /SET state = 'leased'/,
  /UPDATE batches SET ok = counted/,
];
const namesBatch = (value: Value) => typeof value === 'string' && /^batch_[0-9a-f]{8}/.test(value);

export interface LockedDb {
  db: Db;
  /** Rewrites every statement of an operation: a bug planted into the SQL. */
  rewrite: (sql: string, operation: Operation) => string;
  /** The operation under way. */
  operation: Operation;
  /** Told what was written without its lock. */
  tell: (what: string) => void;
}

/**
 * The database with the one rule of row locks watched that a database of one writer cannot break: whoever numbers and
 * counts results or leases chunks has locked the batch before, in the same transaction.
 */
export function watchLocks(inner: Db): LockedDb {
  const self: LockedDb = {
    rewrite: (sql) => sql,
    operation: '',
    tell: () => {},
    db: {
      ...inner,
      lock,
      all: (sql, params) => {
        const rewritten = self.rewrite(sql, self.operation);
        require(rewritten, params ?? [], new Set());
        return inner.all(rewritten, params);
      },
      tx: (work) =>
        inner.tx((q) => {
          const locked = new Set<Value>();
          const queries: Queries = {
            ...q,
            lock,
            skip: lock,
            all: (sql, params = []) => {
              const rewritten = self.rewrite(sql, self.operation);
              if (rewritten.includes('FROM batches') && rewritten.includes(lock))
                for (const id of params) locked.add(id);
              require(rewritten, params, locked);
              return q.all(rewritten, params);
            },
          };
          return work(queries);
        }),
    },
  };
  return self;

  function require(sql: string, params: readonly Value[], locked: ReadonlySet<Value>): void {
    if (!needsLock.some((statement) => statement.test(sql))) return;
    const id = params.find((value) => namesBatch(value) && !locked.has(value));
    if (id !== undefined) self.tell(`${String(id)} is not locked by: ${sql.trim()}`);
  }
}

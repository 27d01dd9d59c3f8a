import type { Db, Queries, Value } from '../../src/store/db.ts';

/** Maximum number of answers stored per statement. */
const maxAnswers = 100;

interface Statement {
  isRead: boolean;
  /** Keyed by parameters. */
  answers: Map<string, Promise<object[]>>;
  /** Value of `writes` when the answers were read. */
  at: number;
}

/**
 * Answers repeated queries from memory until the next write; most of a simulated world is polling. `writes` counts the
 * statements that may have changed data.
 */
export function rememberReads(inner: Db): Db & { readonly writes: number } {
  const statements = new Map<string, Statement>();
  let writes = 0;

  const statementOf = (sql: string): Statement => {
    let statement = statements.get(sql);
    if (!statement)
      statements.set(sql, (statement = { isRead: isRead(sql), answers: new Map(), at: writes }));
    return statement;
  };

  const remember = (asked: Pick<Queries, 'all'>): Queries['all'] => {
    return <Row extends object>(sql: string, params: readonly Value[] = []) => {
      const statement = statementOf(sql);
      const { answers } = statement;
      if (!statement.isRead) {
        writes++;
        return asked.all<Row>(sql, params);
      }
      if (statement.at !== writes || answers.size >= maxAnswers) answers.clear();
      statement.at = writes;
      const question = params.join('\0');
      const known = answers.get(question);
      if (known) return known as Promise<Row[]>;
      const answer = asked.all<Row>(sql, params);
      answers.set(question, answer);
      return answer;
    };
  };

  return {
    ...inner,
    get writes() {
      return writes;
    },
    all: remember(inner),
    // A transaction may roll back, so answers read after its writes are discarded.
    tx: (work) =>
      inner.tx(async (q) => {
        const before = writes;
        try {
          return await work({ ...q, all: remember(q) });
        } finally {
          if (writes > before) writes++;
        }
      }),
    exec(sql) {
      writes++;
      return inner.exec(sql);
    },
  };
}

function isRead(sql: string): boolean {
  return /^\s*(SELECT|WITH)\b/.test(sql) && !/\b(INSERT|UPDATE|DELETE)\b/.test(sql);
}

import type { Db, Queries, Value } from '../../src/store/db.ts';

/** Answers kept at most, however long nothing is written. */
const maxAnswers = 1_000;

/**
 * A database that answers a question from memory while nothing was written since it was asked: what polls ask again and
 * again, which is most of what a simulated world does. `writes` counts the statements that may have changed something.
 */
export function rememberReads(inner: Db): Db & { readonly writes: number } {
  const answers = new Map<string, Promise<object[]>>();
  let writes = 0;

  const remember = (asked: Pick<Queries, 'all'>): Queries['all'] => {
    return <Row extends object>(sql: string, params: readonly Value[] = []) => {
      if (!isRead(sql)) {
        writes++;
        answers.clear();
        return asked.all<Row>(sql, params);
      }
      const question = sql + '\0' + params.join('\0');
      const known = answers.get(question);
      if (known) return known as Promise<Row[]>;
      if (answers.size >= maxAnswers) answers.clear();
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
    // What a transaction wrote may be undone: answers from within are forgotten with it.
    tx: (work) =>
      inner.tx(async (q) => {
        const before = writes;
        try {
          return await work({ ...q, all: remember(q) });
        } finally {
          if (writes > before) answers.clear();
        }
      }),
    exec(sql) {
      writes++;
      answers.clear();
      return inner.exec(sql);
    },
  };
}

const reads = new Map<string, boolean>();

function isRead(sql: string): boolean {
  let is = reads.get(sql);
  if (is === undefined) {
    is = /^\s*(SELECT|WITH)\b/.test(sql) && !/\b(INSERT|UPDATE|DELETE)\b/.test(sql);
    reads.set(sql, is);
  }
  return is;
}

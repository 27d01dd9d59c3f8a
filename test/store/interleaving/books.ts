import type { Client } from 'pg';

/** Reports batches in an inconsistent state, which no reader may see at any moment. */
const wrong = `
SELECT b.id, CASE
  WHEN b.ok <> r.outputs OR b.err <> r.errors OR b.ok <> r.most_output OR b.err <> r.most_errors
    THEN format('counts %s+%s, holds %s+%s, numbered to %s+%s', b.ok, b.err, r.outputs, r.errors, r.most_output, r.most_errors)
  WHEN l.requests <> b.ok OR l.billed <> r.tokens
    THEN format('bills %s requests and %s tokens for %s outputs of %s', l.requests, l.billed, b.ok, r.tokens)
  WHEN r.lines <> r.outputs + r.errors THEN 'has two results of one line'
  WHEN b.closing IS NULL AND b.status IN ('validating', 'in_progress') AND r.open > 0
    THEN format('has %s lines without result whose chunks are done', r.open)
  WHEN b.status NOT IN ('validating', 'in_progress', 'cancelling') AND b.ok + b.err <> b.total
    THEN format('is %s with %s+%s of %s lines', b.status, b.ok, b.err, b.total)
  END AS what, b.status, b.closing, b.ok, b.err
FROM batches b, LATERAL (
  SELECT count(*) FILTER (WHERE stream = 'output') AS outputs, count(*) FILTER (WHERE stream = 'errors') AS errors,
    coalesce(max(n) FILTER (WHERE stream = 'output'), 0) AS most_output,
    coalesce(max(n) FILTER (WHERE stream = 'errors'), 0) AS most_errors,
    count(DISTINCT line) AS lines,
    coalesce(sum(input_tokens) FILTER (WHERE stream = 'output'), 0) AS tokens,
    (SELECT count(*) FROM generate_series(0, b.total - 1) AS line
     WHERE NOT EXISTS (SELECT 1 FROM batch_results x WHERE x.batch_id = b.id AND x.line = line.line)
       AND NOT EXISTS (SELECT 1 FROM batch_chunks c, json_array_elements(c.lines::json) AS ref
         WHERE c.batch_id = b.id AND c.seq > 0 AND c.state <> 'done' AND (ref->>0)::int = line.line)) AS open
  FROM batch_results WHERE batch_id = b.id) AS r, LATERAL (
  SELECT coalesce(sum(requests), 0) AS requests, coalesce(sum(input_tokens), 0) AS billed
  FROM usage_ledger WHERE source_id = b.id) AS l
ORDER BY b.id`;

interface Row {
  id: string;
  what: string | null;
  status: string;
  closing: string | null;
  ok: number;
  err: number;
}

/** Checks the committed state, and that a decided ending does not change. */
export class Books {
  #monitor: Client;
  #last = new Map<string, Row>();

  constructor(monitor: Client) {
    this.#monitor = monitor;
  }

  /** @throws Error that names the violation */
  async look(): Promise<void> {
    const { rows } = await this.#monitor.query<Row>({ name: 'books', text: wrong });
    for (const row of rows) {
      const last = this.#last.get(row.id);
      if (row.what !== null) throw new Error(`${row.id} ${row.what}`);
      if (last && last.closing !== null && last.closing !== row.closing)
        throw new Error(`${row.id} was to end as ${last.closing}, now as ${row.closing}`);
      if (last && isFinal(last) && (last.status !== row.status || last.ok !== row.ok))
        throw new Error(`${row.id} was ${last.status} and changed`);
      this.#last.set(row.id, row);
    }
  }

  /** Unfinished batches. */
  get open(): string[] {
    return [...this.#last.values()].filter((row) => !isFinal(row)).map(({ id }) => id);
  }
}

function isFinal({ status }: Row): boolean {
  return !['validating', 'in_progress', 'cancelling'].includes(status);
}

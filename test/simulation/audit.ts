import type { Db } from '../../src/store/db.ts';

export type ChunkState = 'ready' | 'leased' | 'done' | 'held';

/** State of a chunk before or after a change. */
export interface ChunkSide {
  state: ChunkState;
  owner: string | null;
  epoch: number;
  kills: number;
}

/** Chunk written by one operation; `old` is null for a new chunk. */
export interface ChunkChange {
  batchId: string;
  seq: number;
  model: string;
  lines: number[];
  old: ChunkSide | null;
  now: ChunkSide;
}

/** Result inserted by one operation. */
export interface ResultInsert {
  batchId: string;
  line: number;
}

interface AuditRow {
  kind: 'chunk' | 'result' | 'gone' | 'batch';
  batch_id: string;
  seq: number;
  model: string;
  lines: string;
  old_state: ChunkState | null;
  old_owner: string | null;
  old_epoch: number;
  old_kills: number;
  new_state: ChunkState;
  new_owner: string | null;
  new_epoch: number;
  new_kills: number;
}

const columns = `kind, batch_id, seq, model, lines, old_state, old_owner, old_epoch, old_kills,
  new_state, new_owner, new_epoch, new_kills`;
const written = 'NEW.state, NEW.owner, NEW.epoch, NEW.kills';

/** Creates triggers that log every change of chunks and results, and which batches changed, whichever statement made it. */
export async function beginAudit(db: Db): Promise<void> {
  await db.exec(`
    CREATE TEMP TABLE audit (at INTEGER PRIMARY KEY, ${columns});
    CREATE TEMP TRIGGER chunk_made AFTER INSERT ON main.batch_chunks BEGIN
      INSERT INTO audit (${columns}) VALUES ('chunk', NEW.batch_id, NEW.seq, NEW.model, NEW.lines,
        NULL, NULL, 0, 0, ${written}); END;
    CREATE TEMP TRIGGER chunk_moved AFTER UPDATE ON main.batch_chunks BEGIN
      INSERT INTO audit (${columns}) VALUES ('chunk', NEW.batch_id, NEW.seq, NEW.model, NEW.lines,
        OLD.state, OLD.owner, OLD.epoch, OLD.kills, ${written}); END;
    CREATE TEMP TRIGGER result_made AFTER INSERT ON main.batch_results BEGIN
      INSERT INTO audit (kind, batch_id, seq) VALUES ('result', NEW.batch_id, NEW.line); END;
    CREATE TEMP TRIGGER chunk_gone AFTER DELETE ON main.batch_chunks BEGIN
      INSERT INTO audit (kind, batch_id, seq) VALUES ('gone', OLD.batch_id, OLD.seq); END;
    CREATE TEMP TRIGGER batch_made AFTER INSERT ON main.batches BEGIN
      INSERT INTO audit (kind, batch_id) VALUES ('batch', NEW.id); END;
    CREATE TEMP TRIGGER batch_changed AFTER UPDATE ON main.batches BEGIN
      INSERT INTO audit (kind, batch_id) VALUES ('batch', NEW.id); END;`);
}

export interface Changes {
  chunks: ChunkChange[];
  results: ResultInsert[];
  gone: { batchId: string; seq: number }[];
  /** Batches inserted or updated. */
  batches: Set<string>;
}

/** Returns the changes committed since the last call, in order. */
export async function takeChanges(db: Db): Promise<Changes> {
  const rows = await db.all<AuditRow>(`SELECT ${columns} FROM audit ORDER BY at`);
  if (rows.length > 0) await db.all('DELETE FROM audit');
  const chunks: ChunkChange[] = [];
  const results: ResultInsert[] = [];
  const gone: Changes['gone'] = [];
  const batches: Changes['batches'] = new Set();
  for (const row of rows)
    if (row.kind === 'result') results.push({ batchId: row.batch_id, line: row.seq });
    else if (row.kind === 'batch') batches.add(row.batch_id);
    else if (row.kind === 'gone') gone.push({ batchId: row.batch_id, seq: row.seq });
    else chunks.push(toChange(row));
  return { chunks, results, gone, batches };
}

function toChange(row: AuditRow): ChunkChange {
  const { batch_id: batchId, seq, model, old_state, new_state } = row;
  return {
    batchId,
    seq,
    model,
    lines: (JSON.parse(row.lines) as [number][]).map(([line]) => line),
    old: old_state && { state: old_state, owner: row.old_owner, epoch: row.old_epoch, kills: row.old_kills },
    now: { state: new_state, owner: row.new_owner, epoch: row.new_epoch, kills: row.new_kills },
  };
}

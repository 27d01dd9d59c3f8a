import type { ColumnTypes } from '../db.ts';
import type { Migration } from './migration.ts';

/** Values of `due` below it are those of late batches (`core/urgency.ts`). */
const lateBefore = '-400000000000000';
const isLate = `NEW.state = 'ready' AND NEW.seq > 0 AND NEW.due < ${lateBefore}`;
const isMoved = `((NEW.state, NEW.model, NEW.org_id) <> (OLD.state, OLD.model, OLD.org_id) OR OLD.due >= ${lateBefore})`;

/**
 * Late batches and the orgs that have late chunks of a model, so that a claim reads the first ones alone. Triggers set `late`, as
 * they set `ready`.
 */
export const lateWork: Migration = {
  version: 29,
  name: 'late-work',
  statements: ({ dialect }: ColumnTypes) => [
    // In the order of all transactions: none that holds one of these tables waits for another.
    ...(dialect === 'postgres'
      ? [
          'LOCK TABLE queues IN EXCLUSIVE MODE',
          'LOCK TABLE batches IN SHARE MODE',
          'LOCK TABLE batch_chunks IN SHARE ROW EXCLUSIVE MODE',
        ]
      : []),
    'ALTER TABLE queues ADD COLUMN owed bigint NOT NULL DEFAULT 0',
    'ALTER TABLE queue_shares ADD COLUMN late integer NOT NULL DEFAULT 0',
    'CREATE INDEX queue_shares_late ON queue_shares (model, served, org_id) WHERE ready = 1 AND late = 1',
    `CREATE INDEX batches_to_hurry ON batches ((expires_at - (expires_at - created_at) / 4))
     WHERE status IN ('validating', 'in_progress') AND closing IS NULL AND due >= ${lateBefore}`,
    ...(dialect === 'postgres' ? postgresTriggers : sqliteTriggers),
    `UPDATE queue_shares SET late = 1 WHERE ready = 1 AND (SELECT min(c.due) FROM batch_chunks c
       WHERE c.model = queue_shares.model AND c.org_id = queue_shares.org_id AND c.state = 'ready' AND c.seq > 0) < ${lateBefore}`,
  ],
};

const noted = `INSERT INTO queue_shares (model, org_id, served, ready, late) VALUES (NEW.model, NEW.org_id, 0, 1, 1)
  ON CONFLICT (model, org_id) DO UPDATE SET ready = 1, late = 1`;

const sqliteTriggers = [
  ['late_added', 'INSERT', isLate],
  ['late_moved', 'UPDATE', `${isLate} AND ${isMoved}`],
].map(
  ([name, change, condition]) => `CREATE TRIGGER batch_chunks_${name} AFTER ${change} ON batch_chunks
    WHEN ${condition} BEGIN ${noted} WHERE ready = 0 OR late = 0; END`,
);

/** The lock lasts until the chunk is committed, as that of `note_ready_org`. */
const postgresTriggers = [
  `CREATE FUNCTION note_late_org() RETURNS trigger LANGUAGE plpgsql AS $$
   BEGIN
     PERFORM 1 FROM queue_shares WHERE model = NEW.model AND org_id = NEW.org_id AND ready = 1 AND late = 1 FOR KEY SHARE;
     IF NOT FOUND THEN
       ${noted};
     END IF;
     RETURN NULL;
   END $$`,
  `CREATE TRIGGER batch_chunks_late_added AFTER INSERT ON batch_chunks FOR EACH ROW
     WHEN (${isLate}) EXECUTE FUNCTION note_late_org()`,
  `CREATE TRIGGER batch_chunks_late_moved AFTER UPDATE ON batch_chunks FOR EACH ROW
     WHEN (${isLate} AND ${isMoved}) EXECUTE FUNCTION note_late_org()`,
];

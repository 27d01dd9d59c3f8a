import type { ColumnTypes } from '../db.ts';
import type { Migration } from './migration.ts';

/**
 * Orgs with ready chunks of a model, in the order of their turns, so that a claim reads the first ones alone. Triggers set `ready`,
 * because processes of older versions write chunks, too; claims clear it (`sql/batches/claiming/ready-orgs.ts`).
 */
export const readyOrgs: Migration = {
  version: 27,
  name: 'ready-orgs',
  statements: ({ dialect }: ColumnTypes) => [
    // Every claim locks its queues first: none is under way during the change.
    ...(dialect === 'postgres' ? ['LOCK TABLE queues IN EXCLUSIVE MODE'] : []),
    'ALTER TABLE queue_shares ADD COLUMN ready integer NOT NULL DEFAULT 0',
    'CREATE INDEX queue_shares_in_order ON queue_shares (model, served, org_id) WHERE ready = 1',
    ...(dialect === 'postgres' ? postgresTriggers : sqliteTriggers),
    `INSERT INTO queue_shares (model, org_id, served, ready)
     SELECT DISTINCT model, org_id, 0, 1 FROM batch_chunks WHERE state = 'ready' AND seq > 0
     ON CONFLICT (model, org_id) DO UPDATE SET ready = 1`,
  ],
};

const noted = `INSERT INTO queue_shares (model, org_id, served, ready) VALUES (NEW.model, NEW.org_id, 0, 1)
  ON CONFLICT (model, org_id) DO UPDATE SET ready = 1`;

const isReady = "NEW.state = 'ready' AND NEW.seq > 0";
const isMoved = '(NEW.state, NEW.model, NEW.org_id) <> (OLD.state, OLD.model, OLD.org_id)';

const sqliteTriggers = [
  ['added', 'INSERT', isReady],
  ['moved', 'UPDATE', `${isReady} AND ${isMoved}`],
].map(
  ([name, change, condition]) => `CREATE TRIGGER batch_chunks_${name} AFTER ${change} ON batch_chunks
    WHEN ${condition} BEGIN ${noted} WHERE ready = 0; END`,
);

/**
 * The lock lasts until the chunk is committed. Many transactions hold it at a time, and it allows to charge the org; only a claim that
 * clears `ready` needs the row alone.
 */
const postgresTriggers = [
  `CREATE FUNCTION note_ready_org() RETURNS trigger LANGUAGE plpgsql AS $$
   BEGIN
     PERFORM 1 FROM queue_shares WHERE model = NEW.model AND org_id = NEW.org_id AND ready = 1 FOR KEY SHARE;
     IF NOT FOUND THEN
       ${noted};
     END IF;
     RETURN NULL;
   END $$`,
  `CREATE TRIGGER batch_chunks_added AFTER INSERT ON batch_chunks FOR EACH ROW
     WHEN (${isReady}) EXECUTE FUNCTION note_ready_org()`,
  `CREATE TRIGGER batch_chunks_moved AFTER UPDATE ON batch_chunks FOR EACH ROW
     WHEN (${isReady} AND ${isMoved}) EXECUTE FUNCTION note_ready_org()`,
];

import type { Batch } from '../../core/batch.ts';
import { searchText } from '../../core/batch-search.ts';
import type { Db } from '../db.ts';
import { open } from './batches/queued-work.ts';
import { bytesOfChat } from './responses/chats.ts';
import { bytesOfConversation } from './responses/conversations.ts';
import { bytesOfResponse } from './responses/responses.ts';
import { tuples } from './statement.ts';

/** Adds the values and recounts the sums that version 0.1.0 does not keep. Exact alongside processes that keep them. */
export async function recount(db: Db): Promise<void> {
  await estimateBatches(db);
  await nameBatches(db);
  const orgs = await db.all<{ id: string }>('SELECT id FROM orgs ORDER BY id');
  for (const { id } of orgs) await recountStored(db, id);
}

/** Estimates the batches without an estimate. */
async function estimateBatches(db: Db): Promise<void> {
  const batches = await db.all<{ id: string }>(
    `SELECT id FROM batches WHERE ${open} AND est = 0 ORDER BY id`,
  );
  for (const { id } of batches)
    await db.all(
      `UPDATE batches SET est = (SELECT COALESCE(CAST(sum(est) AS bigint), 0) FROM batch_chunks
         WHERE batch_id = ? AND seq > 0)
       WHERE id = ? AND est = 0`,
      [id, id],
    );
}

/** Adds the names of the input files, and the texts for searches. */
async function nameBatches(db: Db): Promise<void> {
  const unnamed = await db.all<Pick<Batch, 'id' | 'inputName' | 'metadata'>>(
    `SELECT id, metadata, (SELECT filename FROM files WHERE files.id = input_file_id
       AND filename <> batches.id || '_input.jsonl') AS "inputName"
     FROM batches WHERE search IS NULL ORDER BY id`,
  );
  for (const batch of unnamed)
    await db.all('UPDATE batches SET input_name = ?, search = ? WHERE id = ?', [
      batch.inputName,
      searchText(batch),
      batch.id,
    ]);
}

/** SQL: what rows of an org store, by key. */
const parts = [
  `SELECT key_id, CASE WHEN purpose IN ('batch', 'batch_output') THEN 0 ELSE bytes END AS bytes,
     bytes AS file_bytes, 0 AS responses FROM files WHERE org_id = ?`,
  `SELECT key_id, ${bytesOfResponse}, 0, 1 FROM responses WHERE org_id = ?`,
  `SELECT key_id, ${bytesOfChat}, 0, 1 FROM chats WHERE org_id = ?`,
  `SELECT key_id, ${bytesOfConversation}, 0, 1 FROM conversations WHERE org_id = ?`,
  `SELECT COALESCE(i.key_id, c.key_id), octet_length(i.item), 0, 1
   FROM conversation_items i JOIN conversations c ON c.id = i.conversation_id WHERE c.org_id = ?`,
];

interface Part {
  keyId: string | null;
  bytes: number;
  fileBytes: number;
  responses: number;
}

/** Recounts what an org and its keys store. */
function recountStored(db: Db, orgId: string): Promise<void> {
  return db.tx(async (q) => {
    const keys = await q.all<{ id: string }>('SELECT id FROM api_keys WHERE org_id = ? ORDER BY id', [orgId]);
    // In the lock order of `addStored`.
    const owners = [...keys.map(({ id }) => id), orgId].toSorted((a, b) => (a < b ? -1 : 1));
    // These rows are the lock: a transaction that adds or removes something changes them last. One that did so before is
    // counted, and another one adds to the new sums.
    await q.all(
      `INSERT INTO response_usage (org_id, bytes, file_bytes, responses) VALUES ${tuples(owners.length, 4)}
       ON CONFLICT (org_id) DO UPDATE SET bytes = response_usage.bytes`,
      owners.flatMap((id) => [id, 0, 0, 0]),
    );
    const sum = (column: string, name: string) => `CAST(sum(${column}) AS bigint) AS "${name}"`;
    const stored = await q.all<Part>(
      `SELECT key_id AS "keyId", ${sum('bytes', 'bytes')}, ${sum('file_bytes', 'fileBytes')},
         ${sum('responses', 'responses')} FROM (${parts.join(' UNION ALL ')}) AS parts GROUP BY key_id`,
      parts.map(() => orgId),
    );
    for (const owner of owners) {
      const own = owner === orgId ? stored : stored.filter(({ keyId }) => keyId === owner);
      const total = (field: 'bytes' | 'fileBytes' | 'responses') =>
        own.reduce((all, part) => all + part[field], 0);
      await q.all('UPDATE response_usage SET bytes = ?, file_bytes = ?, responses = ? WHERE org_id = ?', [
        total('bytes'),
        total('fileBytes'),
        total('responses'),
        owner,
      ]);
    }
  });
}

import { Client } from 'pg';
import { afterAll, afterEach, beforeEach, describe, expect, test } from 'vitest';
import { silent } from '../../src/base/log.ts';
import { migrate } from '../../src/store/migrations/migrate.ts';
import { initial } from '../../src/store/migrations/0001-initial.ts';
import { openPostgres } from '../../src/store/postgres/db.ts';
import { createPostgresStore } from '../../src/store/postgres/postgres.ts';
import { packLines } from '../../src/store/sql/rows.ts';
import type { Store } from '../../src/store/store.ts';
import { type PostgresServer, startPostgres } from '../support/postgres.ts';
import { until } from '../support/until.ts';
import { addBatch, makeBatch, makeChunks, makeFile, makeKey, start, storedBy } from './fixtures.ts';

// Processes of version 0.1.0 and of this one on one Postgres. The statements of 0.1.0 name its columns alone.

const server = await startPostgres();

if ('reason' in server) test.skip(`rolling upgrades (skipped: ${server.reason})`, () => {});
else
  describe('a rolling upgrade from 0.1.0', () => {
    afterAll(() => server.stop());
    upgradeTests(server);
  });

function upgradeTests(postgres: PostgresServer): void {
  let older: Client;
  let store: Store;
  const key = makeKey({ id: 'key_a', orgId: 'org_a' });

  beforeEach(async () => {
    const url = await postgres.createDatabase();
    const db = openPostgres(url, silent);
    await migrate(db, [initial]);
    await db.close();
    older = new Client(url);
    await older.connect();
    await older.query(`INSERT INTO orgs (id, name, created_at) VALUES ('org_a', 'Acme', ${start})`);
    await addFile('file-before', 'batch', 10);
    store = createPostgresStore({ url, log: silent });
    await store.start();
    await store.keys.insert(key, 'hash');
    await beat();
  });
  afterEach(async () => {
    await Promise.all([store.stop(), older.end()]);
  });

  /** Heartbeat of 0.1.0. */
  const beat = () =>
    older.query(`INSERT INTO workers (id, beat_at, load) VALUES ('wrk_old', 9e15, '{"interactive":{}}')`);
  const leave = () => older.query(`DELETE FROM workers WHERE id = 'wrk_old'`);
  const addBytes = (bytes: number) =>
    older.query(
      `INSERT INTO response_usage (org_id, bytes) VALUES ('org_a', ${bytes})
       ON CONFLICT (org_id) DO UPDATE SET bytes = response_usage.bytes + excluded.bytes`,
    );
  const addFile = (id: string, purpose: string, bytes: number) =>
    older.query(
      `INSERT INTO files (id, org_id, purpose, filename, bytes, blob_id, sha256, created_at)
       VALUES ('${id}', 'org_a', '${purpose}', 'old name.jsonl', ${bytes}, 'blob_${id}', 'ab', ${start})`,
    );

  /** Rows that 0.1.0 writes: 1,000 bytes of a batch file, 100 of another one, 8 of a response, 9 of a chat, 12 of a conversation. */
  async function writeAsOlder(): Promise<void> {
    await addFile('file-x', 'batch', 1_000);
    await addFile('file-y', 'user_data', 100);
    await older.query(`
      INSERT INTO responses (id, org_id, status, created_at, expires_at, said_bytes, input, output, body)
        VALUES ('resp_1', 'org_a', 'completed', 1, 9e15, 0, '[1]', '[2]', '{}');
      INSERT INTO chats (id, org_id, created_at, expires_at, model, metadata, body, messages)
        VALUES ('chat_1', 'org_a', 1, 9e15, 'm1', '{}', '{"a":', '[]');
      INSERT INTO conversations (id, org_id, created_at, expires_at, last_seq, bytes, metadata)
        VALUES ('conv_1', 'org_a', 1, 9e15, 2, 10, '{}');
      INSERT INTO conversation_items (conversation_id, seq, id, item)
        VALUES ('conv_1', 1, 'a', '12345'), ('conv_1', 2, 'b', '67890')`);
    await addBytes(100 + 8 + 9 + 12);
  }

  async function addOlderBatch(): Promise<void> {
    const batch = makeBatch({ id: 'batch_1', total: 8, inputFileId: 'file-x' });
    await older.query(
      `INSERT INTO batches (id, org_id, key_id, endpoint, status, total, ok, err, due, accept_until, input_file_id,
         model, metadata, prices, price_factor, errors, result_ttl_ms, created_at, expires_at)
       VALUES ('batch_1', 'org_a', 'key_a', $1, 'in_progress', 8, 2, 0, 1, 2, 'file-x', 'm1', '{"team":"Search"}',
         '{}', 1, '[]', 1, ${start}, ${start + 1})`,
      [batch.endpoint],
    );
    for (const { seq, lines, est } of makeChunks(batch))
      await older.query(
        `INSERT INTO batch_chunks (batch_id, seq, model, prefix, lines, est, state, epoch, kills, org_id, due, n)
         VALUES ('batch_1', ${seq}, 'm1', 'p', $1, ${est}, 'ready', 0, 0, 'org_a', 1, 4)`,
        [packLines(lines)],
      );
  }

  const claim = async () => {
    const wish = { model: 'm1', names: ['m1'], lines: 1, chunks: 1, claimedDue: {}, moreOrgs: 0 };
    const suspects = { minKills: 2, max: 1, mayTakeAlone: true };
    const { chunks } = await store.batches.claim('w', [wish], { now: start, suspects });
    return chunks.map(({ batchId, seq }) => `${batchId}/${seq}`);
  };

  test('claims the chunks that 0.1.0 creates and releases', async () => {
    await addOlderBatch();
    expect([await claim(), await claim(), await claim()]).toEqual([['batch_1/1'], ['batch_1/2'], []]);
    await older.query(`UPDATE batch_chunks SET state = 'ready', owner = NULL WHERE seq = 2`);
    expect(await claim()).toEqual(['batch_1/2']);
  });

  test('claims a chunk that is committed after a claim found its org without any', async () => {
    await addOlderBatch();
    expect([await claim(), await claim()]).toEqual([['batch_1/1'], ['batch_1/2']]);
    // With a second org, a claim reads the orgs in their order.
    await addBatch(store, { orgId: 'org_b', total: 8 });
    await older.query('BEGIN');
    await older.query(`UPDATE batch_chunks SET state = 'ready', owner = NULL WHERE seq = 2`);
    expect(await claim()).toEqual([expect.stringMatching('/1$')]);
    await older.query('COMMIT');
    expect(await claim()).toEqual(['batch_1/2']);
  });

  test('a claim takes an org without ready chunks out of the order', async () => {
    const ready = async () =>
      (await older.query(`SELECT org_id FROM queue_shares WHERE ready = 1 ORDER BY org_id`)).rows;
    await addOlderBatch();
    await claim();
    await claim();
    await addBatch(store, { orgId: 'org_b', total: 8 });
    expect(await ready()).toEqual([{ org_id: 'org_a' }, { org_id: 'org_b' }]);
    await claim();
    expect(await ready()).toEqual([{ org_id: 'org_b' }]);
  });

  test('a late batch that 0.1.0 releases moves its org ahead', async () => {
    const lateOrgs = async () =>
      (await older.query(`SELECT org_id FROM queue_shares WHERE ready = 1 AND late = 1`)).rows;
    await addOlderBatch();
    expect(await store.batches.hurry(start + 1, 9)).toBe(1);
    expect(await lateOrgs()).toEqual([{ org_id: 'org_a' }]);
    await claim();
    await claim();
    await addBatch(store, { orgId: 'org_b', total: 8 });
    await claim();
    expect(await lateOrgs()).toEqual([]);
    await older.query(
      `UPDATE batch_chunks SET state = 'ready', owner = NULL WHERE batch_id = 'batch_1' AND seq = 2`,
    );
    expect(await lateOrgs()).toEqual([{ org_id: 'org_a' }]);
    expect(await claim()).toEqual(['batch_1/2']);
  });

  const finish = () => store.workers.finishUpgrade(start);

  test('recounts what was written beside it, once the last process of 0.1.0 is gone', async () => {
    const file = makeFile({ keyId: 'key_a', purpose: 'user_data', bytes: 5_000 });
    const kept = makeFile({ keyId: 'key_a', bytes: 7 });
    for (const each of [file, kept]) await store.files.insert(each, undefined, start);
    await writeAsOlder();
    await addOlderBatch();
    // 0.1.0 removes a file of a key from the bytes of the org alone.
    await older.query(`DELETE FROM files WHERE id = '${file.id}'`);
    await addBytes(-5_000);

    expect(await store.workers.hasFirstVersion()).toBe(true);
    expect(await finish()).toBe(false);
    expect(await storedBy(store)).toMatchObject({ fileBytes: 5_017, responses: 0 });
    expect(await storedBy(store, 'key_a')).toMatchObject({ bytes: 5_000, fileBytes: 5_007 });
    expect((await store.batches.queued('org_a', 'key_a')).org.tokens).toEqual({ m1: 0 });

    await leave();
    expect(await store.workers.hasFirstVersion()).toBe(false);
    expect(await finish()).toBe(true);
    const ofOrg = { ownerId: 'org_a', bytes: 129, fileBytes: 1_117, responses: 5 };
    expect(await storedBy(store)).toEqual(ofOrg);
    expect(await storedBy(store, 'key_a')).toEqual({
      ownerId: 'key_a',
      bytes: 0,
      fileBytes: 7,
      responses: 0,
    });
    // 200 tokens of 8 requests, of which 2 have a result.
    expect((await store.batches.queued('org_a', 'key_a')).org.tokens).toEqual({ m1: 150 });
    const found = await older.query(`SELECT input_name, search FROM batches WHERE id = 'batch_1'`);
    expect(found.rows).toEqual([
      { input_name: 'old name.jsonl', search: expect.stringContaining('old name.jsonl\nsearch') },
    ]);
  });

  test('counts again after a process of 0.1.0 that returns from a standstill', async () => {
    await leave();
    expect(await finish()).toBe(true);
    await beat();
    await writeAsOlder();
    expect([await finish(), (await storedBy(store)).fileBytes]).toEqual([false, 10]);
    await leave();
    expect([await finish(), (await storedBy(store)).fileBytes]).toEqual([true, 1_110]);
  });

  test('counts once, and only again for older processes', async () => {
    await leave();
    await finish();
    await older.query(`UPDATE response_usage SET file_bytes = 77`);
    expect([await finish(), (await storedBy(store)).fileBytes]).toEqual([true, 77]);
  });

  test.each([
    ['before', [addToSums, addRow]],
    ['after', [addRow, addToSums]],
  ])('is exact beside a transaction that changes the sums %s the rows', async (_order, [first, second]) => {
    await leave();
    await older.query('BEGIN');
    await first!();
    const finished = finish();
    if (first === addToSums) await until('the recount waits', isBlocked);
    else await finished;
    await second!();
    await older.query('COMMIT');
    expect(await finished).toBe(true);
    expect((await storedBy(store)).fileBytes).toBe(10 + 300);
  });

  function addRow() {
    return addFile('file-z', 'batch', 300);
  }

  function addToSums() {
    return older.query(
      `INSERT INTO response_usage (org_id, bytes, file_bytes, responses) VALUES ('org_a', 0, 300, 0)
       ON CONFLICT (org_id) DO UPDATE SET file_bytes = response_usage.file_bytes + excluded.file_bytes`,
    );
  }

  async function isBlocked(): Promise<boolean> {
    const waiting = await older.query(
      `SELECT 1 FROM pg_locks WHERE NOT granted AND locktype IN ('transactionid', 'tuple')`,
    );
    return waiting.rowCount! > 0;
  }
}

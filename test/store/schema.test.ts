import { describe, expect, test } from 'vitest';
import { systemClock } from '../../src/base/system.ts';
import type { Db, Queries } from '../../src/store/db.ts';
import { migrate, migrations } from '../../src/store/migrations/migrate.ts';
import { openSqlite } from '../../src/store/sqlite/db.ts';
import { dumpSchema } from './schema-dump.ts';

const open = () => openSqlite(':memory:', systemClock);

/** Migration of a later version. */
const next = {
  version: migrations.at(-1)!.version + 1,
  name: 'next',
  statements: () => [
    "ALTER TABLE batches ADD COLUMN later text DEFAULT 'x' NOT NULL",
    'DROP INDEX batches_by_org',
  ],
};

/** Database on which every statement from number `statement` on fails. */
function failingFrom(db: Db, statement: number): Db {
  let count = 0;
  const failing = (q: Queries): Queries => ({
    ...q,
    all: (sql, params) => (++count >= statement ? Promise.reject(new Error('cut')) : q.all(sql, params)),
  });
  return { ...db, tx: (work) => db.tx((q) => work(failing(q))) };
}

describe('the schema', () => {
  // `npx vitest run test/store/schema.test.ts -u` writes the file after a new migration.
  test('is the one in schema.sql', async () => {
    const db = open();
    await migrate(db);
    await expect(await dumpSchema(db)).toMatchFileSnapshot('./schema.sql');
  });

  test('is left unchanged when it is up to date', async () => {
    const db = open();
    await migrate(db);
    const versions = await db.all('SELECT * FROM schema_version');
    await migrate(db);
    expect(await db.all('SELECT * FROM schema_version')).toEqual(versions);
  });

  test('F49: has each migration completely or not at all, wherever it was interrupted, and the next start continues', async () => {
    const whole = open();
    const versions = [''];
    const steps = [...migrations, next];
    const watched: Db = {
      ...whole,
      async tx(work) {
        const applied = await whole.tx(work);
        versions.push(await dumpSchema(whole));
        return applied;
      },
    };
    await migrate(watched, steps);
    expect(new Set(versions).size).toBeGreaterThan(2);
    const expected = versions.at(-1);
    let cuts = 0;
    for (let statement = 1; ; statement++) {
      const db = open();
      const outcome = await migrate(failingFrom(db, statement), steps).then(
        () => 'done',
        () => 'cut',
      );
      if (outcome === 'done') break;
      cuts++;
      expect(versions).toContain(await dumpSchema(db));
      await migrate(db, steps);
      expect(await dumpSchema(db)).toBe(expected);
      await db.close();
    }
    expect(cuts).toBeGreaterThan(20);
  });

  test('of an earlier version gets the sums of what its orgs store', async () => {
    const db = open();
    await migrate(db, migrations.slice(0, 6));
    for (const [id, org, bytes] of [
      ['a', 'org_a', 5],
      ['b', 'org_a', 7],
      ['c', 'org_b', 1],
    ])
      await db.all(
        `INSERT INTO files (id, org_id, purpose, filename, bytes, blob_id, sha256, created_at)
         VALUES (?, ?, 'batch', '', ?, ?, '', 0)`,
        [id!, org!, bytes!, id!],
      );
    await db.all("INSERT INTO conversations VALUES ('conv_a', 'org_a', 0, 9, 2, 4, '{}')");
    for (const seq of [1, 2])
      await db.all("INSERT INTO conversation_items VALUES ('conv_a', ?, ?, '{}')", [seq, `${seq}`]);
    await db.all("INSERT INTO chats VALUES ('chat_a', 'org_a', 0, 9, 'm', '{}', '{}', '[]')");
    await db.all("INSERT INTO response_usage VALUES ('org_a', 33)");
    await migrate(db);
    expect(await db.all('SELECT * FROM response_usage ORDER BY org_id')).toEqual([
      { org_id: 'org_a', bytes: 33, file_bytes: 12, responses: 4 },
      { org_id: 'org_b', bytes: 0, file_bytes: 1, responses: 0 },
    ]);
    await db.close();
  });

  test('of a newer version is refused and left unchanged', async () => {
    const db = open();
    await migrate(db);
    await db.all("INSERT INTO schema_version VALUES (99, 'from the future', 0)");
    await db.all('UPDATE schema_support SET oldest = 98');
    const before = await dumpSchema(db);
    await expect(migrate(db)).rejects.toMatchObject({
      name: 'StoreError',
      code: 'newer_schema',
      message: expect.stringMatching(
        /schema version 99, which supports .* from schema version 98; this one has \d+/,
      ),
      hint: expect.stringContaining('Nothing was changed'),
    });
    expect(await dumpSchema(db)).toBe(before);
  });

  test('of a newer version that supports this one is left unchanged', async () => {
    const db = open();
    await migrate(db);
    await db.all("INSERT INTO schema_version VALUES (99, 'from the future', 0)");
    const before = await dumpSchema(db);
    expect(await migrate(db)).toBe(99);
    expect(await dumpSchema(db)).toBe(before);
  });

  // Development versions before 0.1.0 had migrations 1 to 16.
  test.each([1, 11, 16])('of version %i before 0.1.0 is refused and left unchanged', async (version) => {
    const db = open();
    await migrate(db);
    await db.all('DELETE FROM schema_version');
    await db.all("INSERT INTO schema_version VALUES (?, 'initial', 0)", [version]);
    const before = await dumpSchema(db);
    await expect(migrate(db)).rejects.toMatchObject({
      name: 'StoreError',
      code: 'older_schema',
      message:
        'The database was created before Offpeak 0.1.0 and cannot be upgraded: start with an empty data folder or a new database.',
      hint: 'Nothing was changed.',
    });
    expect(await dumpSchema(db)).toBe(before);
    expect(await db.all('SELECT version FROM schema_version')).toEqual([{ version }]);
  });
});

/** Frequent statements must not read whole tables. */
describe('an index serves', () => {
  const plans = {
    'the batches of an org':
      "SELECT id FROM batches WHERE org_id = 'a' AND id < 'b' ORDER BY id DESC LIMIT 2",
    'what is due to expire': `SELECT id FROM batches WHERE status IN ('validating', 'in_progress') AND closing IS NULL
      AND expires_at <= 1 ORDER BY expires_at, id LIMIT 1`,
    'the open batches of an org': `SELECT count(*) FROM batches WHERE org_id = 'a'
      AND status IN ('validating', 'in_progress', 'cancelling')`,
    'the batches before another one': `SELECT count(*) FROM batches WHERE org_id = 'a'
      AND status IN ('validating', 'in_progress', 'cancelling') AND closing IS NULL AND (due < 1 OR due = 1 AND id < 'b')`,
    'the open batches of a file': `SELECT 1 FROM batches b WHERE b.input_file_id = 'f'
      AND b.status IN ('validating', 'in_progress', 'cancelling')`,
    'what is to be purged': `SELECT id FROM batches
      WHERE purged = 0 AND status IN ('completed', 'failed', 'cancelled', 'expired') ORDER BY id LIMIT 1`,
    'the ready chunks of an org': `SELECT seq, (SELECT b.expires_at FROM batches b WHERE b.id = c.batch_id)
      FROM batch_chunks c WHERE model = 'm' AND org_id = 'o' AND state = 'ready' AND seq > 0
      ORDER BY due, batch_id, kills, seq LIMIT 1`,
    'the next org with ready chunks':
      "SELECT min(org_id) FROM batch_chunks WHERE model = 'm' AND org_id > 'o' AND state = 'ready' AND seq > 0",
    'the next model with ready chunks':
      "SELECT min(model) FROM batch_chunks WHERE model > 'm' AND state = 'ready' AND seq > 0",
    'the chunks that were chosen': `WITH chosen(batch_id, seq) AS (VALUES ('b', 1), ('c', 2))
      UPDATE batch_chunks SET state = 'leased' FROM chosen WHERE batch_chunks.batch_id = chosen.batch_id
        AND batch_chunks.seq = chosen.seq AND state = 'ready'`,
    'the leases of a worker': "SELECT seq FROM batch_chunks WHERE owner = 'w' AND state = 'leased'",
    'the batches to close':
      "SELECT batch_id FROM batch_chunks WHERE state = 'ready' AND seq = 0 ORDER BY due, batch_id LIMIT 1",
    'the live tail':
      "SELECT body FROM batch_results WHERE batch_id = 'b' AND stream = 'output' AND n > 7 ORDER BY n LIMIT 1",
    'the errors by code':
      "SELECT code, count(*), min(n) FROM batch_results WHERE batch_id = 'b' AND stream = 'errors' GROUP BY code",
    'the files of an org with a purpose': `SELECT id FROM files
      WHERE org_id = 'a' AND (expires_at IS NULL OR expires_at > 1) AND purpose = 'batch' AND id < 'b' ORDER BY id DESC LIMIT 2`,
    'the end of a slice of chats':
      "SELECT id FROM chats WHERE org_id = 'a' AND id < 'b' ORDER BY id DESC LIMIT 1 OFFSET 199",
    'expired files': 'SELECT id FROM files WHERE expires_at <= 1 ORDER BY expires_at, id LIMIT 1',
    'expired responses': 'SELECT id FROM responses WHERE expires_at <= 1 ORDER BY expires_at, id LIMIT 1',
    'abandoned responses': 'SELECT id FROM responses WHERE alive_until <= 1 ORDER BY alive_until, id LIMIT 1',
    'the webhooks of an org':
      "SELECT id FROM webhooks WHERE org_id = 'a' AND id < 'b' ORDER BY id DESC LIMIT 2",
    'what is to be delivered': 'SELECT 1 FROM webhook_deliveries WHERE due_at <= 1 LIMIT 1',
    'what is to be delivered first': `SELECT id FROM webhook_deliveries WHERE webhook_id = 'w' AND due_at <= 1
      ORDER BY due_at, id LIMIT 1 OFFSET 3`,
    'who has something to be delivered':
      "SELECT min(webhook_id) FROM webhook_deliveries WHERE due_at IS NOT NULL AND webhook_id > 'w'",
    'the deliveries of a webhook':
      "SELECT id FROM webhook_deliveries WHERE webhook_id = 'w' AND org_id = 'a' AND id < 'b' ORDER BY id DESC LIMIT 2",
    'old deliveries':
      'SELECT id FROM webhook_deliveries WHERE created_at < 1 ORDER BY created_at, id LIMIT 1',
    'old creations': 'SELECT token FROM creates WHERE forget_at <= 1 ORDER BY forget_at LIMIT 1',
  };

  test.each(Object.entries(plans))('%s', async (_, sql) => {
    const db = open();
    await migrate(db);
    const steps = await db.all<{ detail: string }>(`EXPLAIN QUERY PLAN ${sql}`);
    // Values written into the statement are not tables.
    const details = steps.map((step) => step.detail).filter((each) => !/CONSTANT|chosen/.test(each));
    expect(details.filter((detail) => /^(SEARCH|SCAN)/.test(detail) && !detail.includes('INDEX'))).toEqual(
      [],
    );
    expect(details.filter((detail) => detail.includes('TEMP B-TREE'))).toEqual([]);
  });
});

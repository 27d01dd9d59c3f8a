import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { DatabaseSync } from 'node:sqlite';
import { fileURLToPath } from 'node:url';
import { afterAll, expect, test } from 'vitest';
import { silent } from '../../src/base/log.ts';
import { systemClock } from '../../src/base/system.ts';
import { createSqliteStore } from '../../src/store/sqlite/sqlite.ts';
import { createSeededRandom } from '../support/seeded-random.ts';
import type { Ack } from './crash-child.ts';
import { failure, output, range, runningLines, text } from './fixtures.ts';

const lives = 8;
const random = createSeededRandom(20_261_121);
const folder = mkdtempSync(join(tmpdir(), 'crash-'));
const path = join(folder, 'offpeak.db');
afterAll(() => rmSync(folder, { recursive: true, force: true }));

/** Runs a process and kills it at a random moment, often within a transaction. Returns its acknowledgements. */
async function live(life: number): Promise<Ack[]> {
  const script = fileURLToPath(new URL('crash-child.ts', import.meta.url));
  const child = spawn(process.execPath, [script, path, String(life)], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const acks: Ack[] = [];
  // Some acknowledgements in, up to a few dozen transactions.
  const deadline = random.int(3, 62);
  for await (const line of createInterface(child.stdout)) {
    acks.push(JSON.parse(line) as Ack);
    if (acks.length === deadline) setTimeout(() => child.kill('SIGKILL'), random.int(0, 8));
  }
  if (child.exitCode === null && child.signalCode === null) await once(child, 'exit');
  expect(child.signalCode).toBe('SIGKILL');
  return acks;
}

/** Opens the database file itself, without the store. */
function inspect(
  check: (all: (sql: string, ...params: string[]) => Record<string, unknown>[]) => void,
): void {
  const database = new DatabaseSync(path);
  try {
    check((sql, ...params) => database.prepare(sql).all(...params));
  } finally {
    database.close();
  }
}

const bodyOf = (batch: string, line: number) =>
  text((line % 10 === 9 ? failure(batch, line) : output(batch, line)).body);

test(`acknowledged writes survive ${lives} SIGKILLs completely, and the counters match the rows`, async () => {
  const acknowledged: Ack[] = [];
  for (let life = 1; life <= lives; life++) {
    acknowledged.push(...(await live(life)));
    inspect((all) => {
      expect(all('PRAGMA integrity_check')).toEqual([{ integrity_check: 'ok' }]);
      checkAcknowledged(all, acknowledged);
      checkComplete(all);
    });
  }
  expect(acknowledged.filter((ack) => ack.did === 'record').length).toBeGreaterThan(lives);
  const store = createSqliteStore({ path, clock: systemClock, log: silent });
  await store.start();
  await store.workers.clear();
  await store.workers.reap(0);
  const batches = await store.batches.list('org_a', { limit: 1_000 });
  expect(batches.length).toBeGreaterThan(0);
  for (const batch of batches) expect(await runningLines(store, batch.id)).toBe(0);
  await store.stop();
});

type All = (sql: string, ...params: string[]) => Record<string, unknown>[];

function checkAcknowledged(all: All, acknowledged: Ack[]): void {
  for (const ack of acknowledged) {
    const [batch] = all('SELECT * FROM batches WHERE id = ?', ack.batch);
    expect(batch).toBeDefined();
    if (ack.did === 'cancel') expect(batch).toMatchObject({ status: 'cancelling', closing: 'cancelled' });
    if (ack.did !== 'record') continue;
    const rows = all('SELECT line, body FROM batch_results WHERE batch_id = ?', ack.batch);
    const bodies = new Map(rows.map(({ line, body }) => [line, text(body as Uint8Array)]));
    for (const line of ack.lines) expect(bodies.get(line)).toBe(bodyOf(ack.batch, line));
  }
}

/** Acknowledged or not, every write is there completely or not at all. */
function checkComplete(all: All): void {
  for (const batch of all('SELECT * FROM batches')) {
    const id = batch.id as string;
    expect(all('SELECT id FROM files WHERE id = ?', batch.input_file_id as string)).toHaveLength(1);
    const chunks = all('SELECT seq, state, lines FROM batch_chunks WHERE batch_id = ? ORDER BY seq', id);
    expect(chunks.map(({ seq }) => seq)).toEqual(range(0, 51));
    const results = all(
      'SELECT stream, n, line FROM batch_results WHERE batch_id = ? ORDER BY stream, n',
      id,
    );
    const numbers = (stream: string) => results.filter((row) => row.stream === stream).map(({ n }) => n);
    expect(numbers('output')).toEqual(range(1, Number(batch.ok) + 1));
    expect(numbers('errors')).toEqual(range(1, Number(batch.err) + 1));
    const recorded = new Set(results.map(({ line }) => line));
    for (const chunk of chunks.filter(({ state }) => state === 'done' && batch.closing !== 'cancelled'))
      for (const [line] of JSON.parse(chunk.lines as string) as [number][])
        expect(recorded.has(line)).toBe(true);
    const complete = results.length === batch.total;
    if (batch.closing !== 'cancelled') expect(batch.closing).toBe(complete ? 'completed' : null);
    expect(chunks[0]!.state).toBe(batch.closing === null ? 'held' : 'ready');
    const [ledger] = all(
      'SELECT coalesce(sum(requests), 0) AS n, coalesce(sum(input_tokens), 0) AS t FROM usage_ledger WHERE source_id = ?',
      id,
    );
    expect(ledger).toEqual({ n: batch.ok, t: Number(batch.ok) * 10 });
  }
}

import { spawn } from 'node:child_process';
import { once } from 'node:events';
import {
  appendFileSync,
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { silent } from '../../src/base/log.ts';
import { systemClock } from '../../src/base/system.ts';
import { createSqliteStore } from '../../src/store/sqlite/sqlite.ts';
import { StoreError } from '../../src/core/store-error.ts';
import { createManualClock } from '../support/manual-clock.ts';
import { mountSmallDisk } from '../support/small-disk.ts';
import { addBatch, closeBatch, makeOrg, output, range, start, claimOf } from './fixtures.ts';

let folder: string;
let path: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'data-'));
  path = join(folder, 'offpeak.db');
});
afterEach(() => {
  rmSync(folder, { recursive: true, force: true });
});

const open = (at = path) => createSqliteStore({ path: at, clock: systemClock, log: silent });

/** Error of a start that must fail. */
async function failing(at = path): Promise<StoreError> {
  const store = open(at);
  const error: unknown = await store.start().catch((thrown: unknown) => thrown);
  await store.stop();
  expect(error).toBeInstanceOf(StoreError);
  return error as StoreError;
}

async function filled(): Promise<void> {
  const store = open();
  await store.start();
  for (let i = 0; i < 20; i++) await store.orgs.insert(makeOrg({ name: `Org ${i}`.repeat(20) }));
  await store.stop();
}

describe('a data folder', () => {
  test('is created for its owner alone, and keeps its data', async () => {
    path = join(folder, 'deep', 'down', 'offpeak.db');
    const org = makeOrg();
    const store = open();
    await store.start();
    await store.orgs.insert(org);
    await store.stop();
    expect(statSync(join(folder, 'deep', 'down')).mode & 0o777).toBe(0o700);
    const again = open();
    await again.start();
    expect(await again.orgs.list()).toEqual([org]);
    await again.stop();
  });

  test('has a database readable by its owner alone, also in an existing folder', async () => {
    const store = open();
    await store.start();
    await store.orgs.insert(makeOrg());
    for (const file of ['offpeak.db', 'offpeak.db-wal', 'offpeak.db-shm'])
      expect([file, statSync(join(folder, file)).mode & 0o777]).toEqual([file, 0o600]);
    await store.stop();
  });

  test('warns when the write-ahead log of a killed process is missing, and only then', async () => {
    const org = makeOrg();
    const store = open();
    await store.start();
    await store.orgs.insert(org);
    /** Starts on the files that a kill leaves, without some of them. */
    async function startedWithout(...files: string[]) {
      const copy = mkdtempSync(join(tmpdir(), 'data-'));
      cpSync(folder, copy, { recursive: true, filter: (name) => !files.some((file) => name.endsWith(file)) });
      const warnings: string[] = [];
      const log = { ...silent, warn: (_: object, message: string) => void warnings.push(message) };
      const next = createSqliteStore({ path: join(copy, 'offpeak.db'), clock: systemClock, log });
      await next.start();
      const found = await next.orgs.list();
      await next.stop();
      rmSync(copy, { recursive: true });
      return { warnings, found };
    }
    const gone = await startedWithout('-wal', '-shm');
    expect(gone.warnings).toEqual([expect.stringMatching(/killed, and the write-ahead log .* is gone/)]);
    expect(await startedWithout()).toEqual({ warnings: [], found: [org] });
    expect(await startedWithout('offpeak.db', '-wal', '-shm')).toEqual({ warnings: [], found: [] });
    await store.stop();
    expect(await startedWithout()).toEqual({ warnings: [], found: [org] });
  });

  test('C30: holds no trace of deleted rows once it is scrubbed', async () => {
    const canary = `canary ${'yellow '.repeat(9)}`;
    const store = open();
    await store.start();
    const batch = await addBatch(store, { total: 300 });
    await claimOf(store, 'w', batch.id, { count: 300 });
    // Rows smaller than a page, of one page, and of several.
    const bodies = (line: number) => Buffer.from(canary.repeat(1 + (line % 3) * 60));
    const lines = range(0, 300).map((line) => ({ ...output(batch, line), body: bodies(line) }));
    for (let at = 0; at < lines.length; at += 10)
      await store.results.record('w', lines.slice(at, at + 10), [], start);
    const holding = () =>
      readdirSync(folder).filter((name) => readFileSync(join(folder, name)).includes('yellow yellow'));
    expect(holding()).not.toEqual([]);
    await closeBatch(store, batch.id);
    for (const limit of [7, 50, 1_000]) await store.results.purge(batch.id, limit);
    expect(await store.results.tail(batch.id, 'output', 0, { rows: 10, bytes: 1e9 })).toEqual([]);
    await store.scrub();
    expect(holding()).toEqual([]);
    await store.stop();
    expect(holding()).toEqual([]);
  });

  test('F37: is unreachable a minute after its disk hangs, and only as long as it hangs', async () => {
    const clock = createManualClock();
    const store = createSqliteStore({ path, clock, log: silent });
    await store.start();
    const blocking = new DatabaseSync(path);
    blocking.exec('BEGIN IMMEDIATE');
    const early = store.orgs.insert(makeOrg()).catch((error: unknown) => error);
    await clock.advance(30_000);
    const late = store.orgs.insert(makeOrg());
    await clock.advance(30_000);
    expect(await early).toMatchObject({ code: 'unreachable', message: expect.stringContaining('for 60 s') });
    blocking.exec('COMMIT');
    blocking.close();
    await late;
    await store.ping();
    expect(await store.orgs.list()).toHaveLength(2);
    await store.stop();
    expect(clock.pending).toBe(0);
  });

  test('F37: still answers after the process was suspended for longer than the timeout', async () => {
    const clock = createManualClock();
    const store = createSqliteStore({ path, clock, log: silent });
    await store.start();
    const inserted = store.orgs.insert(makeOrg());
    // Before the answer is read, since the timers of a process that wakes up run first.
    clock.stall(120_000);
    await clock.advance(0);
    await inserted;
    await store.stop();
    expect(clock.pending).toBe(0);
  });

  test('F37: belongs to one process: a second store names that process', async () => {
    const store = open();
    await store.start();
    const error = await failing();
    expect(error.code).toBe('locked');
    expect(error.message).toBe(`The data folder ${folder} is in use by process ${process.pid}.`);
    await store.ping();
    await store.stop();
    expect(existsSync(join(folder, 'lock.pid'))).toBe(false);
    const after = open();
    await after.start();
    await after.stop();
  });

  test('is free again when the process that held it was killed', async () => {
    const sources = new URL('../../src', import.meta.url).href;
    const script = `
      import { createSqliteStore } from '${sources}/store/sqlite/sqlite.ts';
      import { systemClock } from '${sources}/base/system.ts';
      import { silent } from '${sources}/base/log.ts';
      const store = createSqliteStore({ path: ${JSON.stringify(path)}, clock: systemClock, log: silent });
      await store.start();
      console.log('started');
      setInterval(() => {}, 1000);`;
    const child = spawn(process.execPath, ['--input-type=module', '-e', script], {
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    try {
      await once(child.stdout, 'data');
      const error = await failing();
      expect(error.message).toBe(`The data folder ${folder} is in use by process ${child.pid}.`);
    } finally {
      child.kill('SIGKILL');
      await once(child, 'exit');
    }
    expect(existsSync(join(folder, 'lock.pid'))).toBe(true);
    const store = open();
    await store.start();
    expect(readFileSync(join(folder, 'lock.pid'), 'utf8')).toBe(`${process.pid}\n`);
    await store.stop();
  });
});

describe('a start reports the cause when', () => {
  test('the file is not a database, and does not change it', async () => {
    const garbage = 'This is a letter to my aunt. '.repeat(400);
    writeFileSync(path, garbage);
    const error = await failing();
    expect(error.code).toBe('not_a_database');
    expect(error.message).toBe(`${path} is not a database.`);
    expect(readFileSync(path, 'utf8')).toBe(garbage);
  });

  test('the database is damaged', async () => {
    await filled();
    const bytes = readFileSync(path);
    bytes.fill(0xa5, 100, 4_096);
    writeFileSync(path, bytes);
    const error = await failing();
    expect(error.code).toBe('corrupt');
    expect(error.message).toBe(`The database ${path} is damaged.`);
  });

  test('the schema has a newer version, and changes nothing', async () => {
    await filled();
    const database = new DatabaseSync(path);
    database.exec("INSERT INTO schema_version VALUES (99, 'from the future', 0)");
    database.exec('UPDATE schema_support SET oldest = 99');
    database.close();
    const error = await failing();
    expect(error.code).toBe('newer_schema');
    expect(error.message).toMatch('schema version 99');
    const after = new DatabaseSync(path);
    expect(after.prepare('SELECT count(*) AS orgs FROM orgs').get()).toEqual({ orgs: 20 });
    after.close();
  });

  test('the database is from before 0.1.0, and changes nothing', async () => {
    await filled();
    const database = new DatabaseSync(path);
    database.exec("DELETE FROM schema_version; INSERT INTO schema_version VALUES (11, 'initial', 0)");
    database.close();
    const error = await failing();
    expect(error.code).toBe('older_schema');
    expect(error.message).toBe(
      'The database was created before Offpeak 0.1.0 and cannot be upgraded: start with an empty data folder or a new database.',
    );
    const after = new DatabaseSync(path);
    expect(after.prepare('SELECT count(*) AS orgs FROM orgs').get()).toEqual({ orgs: 20 });
    expect(after.prepare('SELECT version FROM schema_version').all()).toEqual([{ version: 11 }]);
    after.close();
  });

  test('the folder cannot be created', async () => {
    writeFileSync(path, 'a file');
    const error = await failing(join(path, 'below', 'offpeak.db'));
    expect(error.code).toBe('unwritable');
    expect(error.message).toBe(`The data folder ${join(path, 'below')} cannot be written to.`);
  });

  test('a folder has the path of the database', async () => {
    mkdirSync(path);
    const error = await failing();
    expect(error.code).toBe('unwritable');
    expect(error.message).toBe(`The database ${path} cannot be opened for writing.`);
  });

  test('the lock file is invalid', async () => {
    writeFileSync(join(folder, 'lock.db'), 'garbage '.repeat(1_000));
    const error = await failing();
    expect(error.message).toBe(`${join(folder, 'lock.db')} is not a database.`);
  });

  test('the file is garbage, and succeeds once it is removed', async () => {
    writeFileSync(path, 'garbage '.repeat(1_000));
    await failing();
    rmSync(path);
    const store = open();
    await store.start();
    await store.ping();
    await store.stop();
  });
});

test('a damaged page is reported by the operation that reads it', async () => {
  await filled();
  const bytes = readFileSync(path);
  const database = new DatabaseSync(path);
  const { rootpage } = database.prepare("SELECT rootpage FROM sqlite_schema WHERE name = 'orgs'").get() as {
    rootpage: number;
  };
  database.close();
  bytes.fill(0xa5, (rootpage - 1) * 4_096, rootpage * 4_096);
  writeFileSync(path, bytes);
  const store = open();
  await store.start();
  await expect(store.orgs.list()).rejects.toMatchObject({ name: 'StoreError', code: 'corrupt' });
  await store.ping();
  await store.stop();
});

describe('a store', () => {
  test('can be started and stopped repeatedly, in any order', async () => {
    const never = open();
    await never.stop();
    await never.stop();
    const store = open();
    const [started] = await Promise.allSettled([store.start(), store.start(), store.stop(), store.stop()]);
    expect(started.status).toBe('fulfilled');
    await store.stop();
    await expect(store.ping()).rejects.toMatchObject({ name: 'StoreError', code: 'stopped' });
  });

  test('answers pending operations before it stops', async () => {
    const store = open();
    await store.start();
    const beats = range(0, 50).map((i) => store.workers.beat(`w${i}`, { interactive: {} }));
    const orgs = range(0, 50).map(() => store.orgs.insert(makeOrg()));
    const stopped = store.stop();
    expect(await Promise.all(beats)).toHaveLength(50);
    await Promise.all(orgs);
    await stopped;
  });

  test('returns arguments that cannot be cloned to the caller as an error, and continues', async () => {
    const store = open();
    await store.start();
    const org = { ...makeOrg(), toString: () => 'not cloneable' };
    await expect(store.orgs.insert(org)).rejects.toThrow('could not be cloned');
    await store.ping();
    await store.stop();
  });

  test('passes on database errors with their messages', async () => {
    const store = open();
    await store.start();
    const org = makeOrg();
    await store.orgs.insert(org);
    await expect(store.orgs.insert(org)).rejects.toThrow('UNIQUE constraint failed: orgs.id');
    await store.stop();
  });
});

/** Fills the disk to the last block. */
function fillUp(file: string): void {
  try {
    for (;;) appendFileSync(file, new Uint8Array(4_096));
  } catch (error) {
    expect(error).toMatchObject({ code: 'ENOSPC' });
  }
}

test('a full disk rejects writes, damages nothing, and works again once there is space', async ({
  skip,
  onTestFinished,
}) => {
  const disk = mountSmallDisk();
  if ('reason' in disk) return skip(disk.reason);
  onTestFinished(disk.remove);
  const onDisk = join(disk.folder, 'offpeak.db');
  const filler = join(disk.folder, 'filler');
  writeFileSync(filler, new Uint8Array(1_500_000));
  const store = open(onDisk);
  await store.start();
  const batch = await addBatch(store, { total: 1_000 });
  await claimOf(store, 'w', batch.id, { count: 1_000 });
  const record = (line: number) =>
    store.results.record('w', [output(batch, line, { body: new Uint8Array(50_000) })], [], start);
  let kept = 0;
  const fill = async () => {
    for (; kept < 1_000; kept++) await record(kept);
  };
  await expect(fill()).rejects.toMatchObject({
    name: 'ApiError',
    code: 'insufficient_storage',
    status: 507,
  });
  expect(kept).toBeGreaterThan(3);
  expect(await store.batches.find(batch.id)).toMatchObject({ ok: kept });
  expect(await store.results.tail(batch.id, 'output', 0, { rows: 1_000, bytes: 1e9 })).toHaveLength(kept);
  rmSync(filler);
  expect(await record(kept)).toMatchObject([{ kept: 1 }]);
  await store.stop();
  const database = new DatabaseSync(onDisk);
  expect(database.prepare('PRAGMA integrity_check').get()).toEqual({ integrity_check: 'ok' });
  database.close();
  rmSync(onDisk);
  fillUp(filler);
  const error = await failing(onDisk);
  expect(error.code).toBe('disk_full');
  expect(error.message).toBe(`The disk of ${disk.folder} is full.`);
});

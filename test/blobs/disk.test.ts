import { spawnSync } from 'node:child_process';
import {
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  truncateSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import * as nodeFs from 'node:fs/promises';
import { hostname, tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { silent } from '../../src/base/log.ts';
import { createDiskBlobs } from '../../src/blobs/disk.ts';
import type { DiskFs } from '../../src/blobs/disk-fs.ts';
import { smallDisk } from '../support/small-disk.ts';

const name = `blob_${'0'.repeat(30)}a7`;
const other = `blob_${'1'.repeat(32)}`;
const host = hostname().replaceAll(/[^A-Za-z0-9-]/g, '_');

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'blobs-'));
});
afterEach(() => {
  rmSync(folder, { recursive: true, force: true });
});

async function open(fs?: DiskFs) {
  const blobs = createDiskBlobs({ folder, log: silent, ...(fs && { fs }) });
  await blobs.start();
  return blobs;
}

async function put(blobs: Awaited<ReturnType<typeof open>>, blob: string, ...chunks: Uint8Array[]) {
  const writer = await blobs.create(blob);
  for (const chunk of chunks) await writer.write(chunk);
  await writer.commit();
}

async function collect(stream: AsyncIterable<Uint8Array>): Promise<Buffer> {
  const chunks: Uint8Array[] = [];
  for await (const chunk of stream) chunks.push(chunk);
  return Buffer.concat(chunks);
}

/** Every file below the folder. */
const files = () =>
  readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => entry.name);

/** Bytes that differ everywhere, so that a wrong offset shows. */
const pattern = (length: number) => Buffer.from(Uint32Array.from({ length: length / 4 }, (_, i) => i).buffer);

describe('a blob', () => {
  test('comes back as it was written, whole and by ranges', async () => {
    const blobs = await open();
    const bytes = pattern(1_000_000);
    await put(blobs, name, bytes.subarray(0, 10), bytes.subarray(10, 700_000), bytes.subarray(700_000));
    expect(await blobs.size(name)).toBe(1_000_000);
    expect(bytes.equals(await collect(await blobs.read(name)))).toBe(true);
    for (const [start, end] of [
      [0, 1],
      [262_143, 262_145],
      [999_999, 1_000_000],
      [5, 5],
      [300_000, 900_001],
    ] as const)
      expect(bytes.subarray(start, end).equals(await collect(await blobs.read(name, { start, end })))).toBe(
        true,
      );
    expect(bytes.subarray(400_000).equals(await collect(await blobs.read(name, { start: 400_000 })))).toBe(
      true,
    );
  });

  test('is read in chunks of at most 256 KiB', async () => {
    const blobs = await open();
    await put(blobs, name, pattern(600_000));
    const sizes: number[] = [];
    for await (const chunk of await blobs.read(name)) sizes.push(chunk.byteLength);
    expect(sizes).toEqual([262_144, 262_144, 75_712]);
  });

  test('may be empty', async () => {
    const blobs = await open();
    await put(blobs, name);
    expect(await blobs.size(name)).toBe(0);
    expect(await collect(await blobs.read(name))).toHaveLength(0);
  });

  test('gives exact slices, or none', async () => {
    const blobs = await open();
    const bytes = pattern(1_000);
    await put(blobs, name, bytes);
    expect(bytes.subarray(990, 1_000).equals(await blobs.slice(name, 990, 10))).toBe(true);
    expect(await blobs.slice(name, 0, 0)).toHaveLength(0);
    await expect(blobs.slice(name, 990, 11)).rejects.toThrow(
      'ends at byte 1000; it was expected to reach 1001',
    );
  });

  test('gives many slices at once in the order asked for, all or none, and opens the file once', async () => {
    const opened: unknown[] = [];
    const counting: DiskFs = {
      ...nodeFs,
      open(...args) {
        opened.push(args[0]);
        return nodeFs.open(...args);
      },
    };
    const blobs = await open(counting);
    const bytes = pattern(1_000);
    await put(blobs, name, bytes);
    opened.length = 0;
    const places = [
      { offset: 990, length: 10 },
      { offset: 0, length: 0 },
      { offset: 3, length: 500 },
    ];
    const slices = await blobs.slices(name, places);
    expect(slices.map((slice) => Buffer.from(slice))).toEqual(
      places.map(({ offset, length }) => bytes.subarray(offset, offset + length)),
    );
    expect(opened).toHaveLength(1);
    await expect(blobs.slices(name, [...places, { offset: 999, length: 2 }])).rejects.toThrow(
      'ends at byte 1000; it was expected to reach 1001',
    );
    expect(await blobs.slices(name, [])).toEqual([]);
  });

  test('does not exist before its commit, and survives a new start after it', async () => {
    const blobs = await open();
    const writer = await blobs.create(name);
    await writer.write(pattern(8));
    expect(await blobs.size(name)).toBeUndefined();
    await expect(blobs.read(name)).rejects.toThrow(`The blob ${name} is missing.`);
    await writer.commit();
    const again = await open();
    expect(await again.size(name)).toBe(8);
  });

  test('leaves no trace when it is aborted', async () => {
    const blobs = await open();
    const writer = await blobs.create(name);
    await writer.write(pattern(8));
    await writer.abort();
    await writer.abort();
    expect(files()).toEqual([]);
    await expect(writer.write(pattern(8))).rejects.toThrow('committed, aborted or failed already');
  });

  test('stays when it is aborted after the commit', async () => {
    const blobs = await open();
    const writer = await blobs.create(name);
    await writer.commit();
    await writer.abort();
    expect(await blobs.size(name)).toBe(0);
  });

  test('is gone once removed, and may be removed twice', async () => {
    const blobs = await open();
    await put(blobs, name, pattern(8));
    await put(blobs, `${name}.index`, pattern(4));
    await blobs.remove(name);
    await blobs.remove(name);
    expect(await blobs.size(name)).toBeUndefined();
    expect(await blobs.size(`${name}.index`)).toBe(4);
  });

  test('that was cut outside is an error and never fewer bytes', async () => {
    const blobs = await open();
    await put(blobs, name, pattern(600_000));
    const stream = await blobs.read(name);
    const iterator = stream[Symbol.asyncIterator]();
    await iterator.next();
    truncateSync(join(folder, 'a7', name), 300_000);
    await expect(
      (async () => {
        while (!(await iterator.next()).done);
      })(),
    ).rejects.toThrow('ends at byte 300000');
    await expect(blobs.read(name, { end: 600_000 })).rejects.toThrow('ends at byte 300000');
  });
});

test('a reader that goes away early, or never begins, keeps no file open', async () => {
  let opened = 0;
  const fs: DiskFs = {
    ...nodeFs,
    open: async (...args) => {
      const handle = await nodeFs.open(...args);
      opened++;
      const close = handle.close.bind(handle);
      Object.assign(handle, { close: () => close().finally(() => opened--) });
      return handle;
    },
  };
  const blobs = await open(fs);
  await put(blobs, name, pattern(600_000));
  for await (const chunk of await blobs.read(name)) {
    expect(chunk.byteLength).toBe(262_144);
    break;
  }
  const untouched = (await blobs.read(name))[Symbol.asyncIterator]();
  expect(opened).toBe(1);
  await untouched.return!();
  expect(opened).toBe(0);
});

test.each([
  '',
  'blob_',
  '../../etc/passwd',
  `blob_${'0'.repeat(31)}`,
  `blob_${'0'.repeat(33)}`,
  `${name}/..`,
  `${name}.txt`,
  `blob_${'A'.repeat(32)}`,
  `${name}\n`,
  `${name}\0`,
  `${name}.index.index`,
])('the name %j is refused by every operation', async (bad) => {
  const blobs = await open();
  await expect(blobs.create(bad)).rejects.toThrow('Not the name of a blob');
  await expect(blobs.read(bad)).rejects.toThrow('Not the name of a blob');
  await expect(blobs.slice(bad, 0, 1)).rejects.toThrow('Not the name of a blob');
  await expect(blobs.size(bad)).rejects.toThrow('Not the name of a blob');
  await expect(blobs.remove(bad)).rejects.toThrow('Not the name of a blob');
  await expect(blobs.setAside(bad, 0)).rejects.toThrow('Not the name of a blob');
  await expect(blobs.bringBack(bad)).rejects.toThrow('Not the name of a blob');
  expect(files()).toEqual([]);
});

test('lists what is committed, with its age, and nothing else', async () => {
  const blobs = await open();
  await put(blobs, name, pattern(8));
  await put(blobs, `${name}.index`, pattern(8));
  await put(blobs, other, pattern(8));
  const writer = await blobs.create(`blob_${'2'.repeat(32)}`);
  writeFileSync(join(folder, 'a7', 'notes.txt'), 'not ours');
  utimesSync(join(folder, '11', other), 1_000, 1_000);
  const listed = new Map<string, number>();
  for await (const { name: found, modifiedAt } of blobs.list()) listed.set(found, modifiedAt);
  expect([...listed.keys()].toSorted()).toEqual([name, `${name}.index`, other].toSorted());
  expect(listed.get(other)).toBe(1_000_000);
  expect(Number.isInteger(listed.get(name))).toBe(true);
  await writer.abort();
});

describe('a blob set aside', () => {
  async function aside(blobs: Awaited<ReturnType<typeof open>>) {
    const found: { name: string; since: number }[] = [];
    for await (const each of blobs.listAside()) found.push(each);
    return found;
  }

  test('is missing, tells since when, and comes back whole', async () => {
    const blobs = await open();
    expect(await aside(blobs)).toEqual([]);
    await put(blobs, name, pattern(8));
    await blobs.setAside(name, 1_234_567_890);
    await expect(blobs.read(name)).rejects.toMatchObject({ code: 'missing' });
    expect(await blobs.size(name)).toBeUndefined();
    expect(await blobs.list()[Symbol.asyncIterator]().next()).toMatchObject({ done: true });
    expect(await aside(await open())).toEqual([{ name, since: 1_234_567_890 }]);
    await blobs.bringBack(name);
    expect(await aside(blobs)).toEqual([]);
    expect(pattern(8).equals(await blobs.slice(name, 0, 8))).toBe(true);
  });

  test('is removed like any other', async () => {
    const blobs = await open();
    await put(blobs, name, pattern(8));
    await blobs.setAside(name, 1_000);
    await blobs.remove(name);
    expect(files()).toEqual([]);
  });

  test('may be set aside and brought back by two at once', async () => {
    const blobs = await open();
    await put(blobs, name, pattern(8));
    await Promise.all([blobs.setAside(name, 1_000), blobs.setAside(name, 1_000)]);
    await Promise.all([blobs.bringBack(name), blobs.bringBack(name)]);
    await blobs.setAside(other, 1_000);
    await blobs.bringBack(other);
    expect(await blobs.size(name)).toBe(8);
  });
});

test('the label of the folder stays until it is written anew', async () => {
  const blobs = await open();
  expect(await blobs.readLabel()).toBeUndefined();
  await blobs.label('inst_1');
  expect(await (await open()).readLabel()).toBe('inst_1');
  await blobs.label('inst_2');
  expect(await blobs.readLabel()).toBe('inst_2');
  expect(files()).toEqual(['installation']);
});

test('a start removes what dead processes left and keeps what living ones write', async () => {
  const dead = spawnSync('true').pid;
  mkdirSync(join(folder, 'tmp'));
  const leave = (file: string) => writeFileSync(join(folder, 'tmp', file), 'half');
  leave(`${host}.${dead}.1`);
  leave(`${host}.${process.pid}.9`); // an earlier process with the number of this one
  leave(`${host}.${process.ppid}.1`);
  leave('elsewhere.1.1');
  leave('elsewhere.1.2');
  utimesSync(join(folder, 'tmp', 'elsewhere.1.2'), 1_000, 1_000);
  await open();
  expect(files().toSorted()).toEqual(['elsewhere.1.1', `${host}.${process.ppid}.1`].toSorted());
});

test('start and stop may come in any number and order', async () => {
  const blobs = createDiskBlobs({ folder, log: silent });
  await blobs.stop();
  await Promise.all([blobs.start(), blobs.start(), blobs.stop()]);
  await blobs.start();
  await blobs.ping();
  await blobs.stop();
  await blobs.stop();
  expect(files()).toEqual([]);
});

test('a folder that cannot be one is told apart at start', async () => {
  const file = join(folder, 'file');
  writeFileSync(file, '');
  const blobs = createDiskBlobs({ folder: join(file, 'blobs'), log: silent });
  await expect(blobs.start()).rejects.toMatchObject({
    name: 'BlobError',
    code: 'unavailable',
    message: `The folder ${join(file, 'blobs')} cannot be written to.`,
    hint: expect.stringContaining('read-only'),
  });
});

describe('on a failing disk', () => {
  const full = () => Object.assign(new Error('ENOSPC: no space left on device'), { code: 'ENOSPC' });

  /** A file system whose files fail at `method` from the given call on. */
  function failing(method: 'write' | 'sync', from: number): DiskFs {
    let calls = 0;
    return {
      ...nodeFs,
      open: async (...args) => {
        const handle = await nodeFs.open(...args);
        const original = handle[method].bind(handle) as (...all: unknown[]) => Promise<unknown>;
        Object.assign(handle, {
          [method]: (...all: unknown[]) => (++calls >= from ? Promise.reject(full()) : original(...all)),
        });
        return handle;
      },
    };
  }

  test.each([
    ['the first write', 'write', 1],
    ['a later write', 'write', 3],
    ['the flush', 'sync', 1],
  ] as const)('%s: insufficient_storage, and nothing stays', async (_, method, from) => {
    const blobs = await open(failing(method, from));
    const writer = await blobs.create(name);
    const attempt = async () => {
      for (let i = 0; i < 4; i++) await writer.write(pattern(1_000));
      await writer.commit();
    };
    await expect(attempt()).rejects.toMatchObject({ code: 'insufficient_storage', status: 507 });
    await writer.abort();
    expect(files()).toEqual([]);
    expect(await blobs.size(name)).toBeUndefined();
  });

  test('F36: no room for the name: insufficient_storage, and nothing stays', async () => {
    const blobs = await open({ ...nodeFs, rename: () => Promise.reject(full()) });
    const writer = await blobs.create(name);
    await writer.write(pattern(8));
    await expect(writer.commit()).rejects.toMatchObject({ code: 'insufficient_storage' });
    expect(files()).toEqual([]);
  });

  test('no room for the first byte: create and ping say so', async () => {
    let fail = false;
    const blobs = await open({
      ...nodeFs,
      open: (...args) => (fail ? Promise.reject(full()) : nodeFs.open(...args)),
    });
    fail = true;
    await expect(blobs.create(name)).rejects.toMatchObject({ code: 'insufficient_storage' });
    await expect(blobs.ping()).rejects.toMatchObject({ code: 'insufficient_storage' });
  });

  /** A file system on which `operation` is refused from now on. */
  function refusing(operation: 'open' | 'stat' | 'read' | 'rm', code: string): DiskFs {
    const refuse = () => Promise.reject(Object.assign(new Error(`${code}: refused`), { code }));
    if (operation !== 'read') return { ...nodeFs, [operation]: refuse };
    return {
      ...nodeFs,
      open: async (...args) => Object.assign(await nodeFs.open(...args), { read: refuse }),
    };
  }

  test.each(['EIO', 'EMFILE', 'ENFILE', 'EACCES', 'ESTALE'])(
    '%s is told from a blob that is gone: it may be there again later',
    async (code) => {
      await put(await open(), name, pattern(8));
      const through = (operation: 'open' | 'stat' | 'read' | 'rm') =>
        createDiskBlobs({ folder, log: silent, fs: refusing(operation, code) });
      const unavailable = { name: 'BlobError', code: 'unavailable', message: expect.stringContaining(code) };
      await expect(through('open').slice(name, 0, 8)).rejects.toMatchObject(unavailable);
      await expect(through('read').slice(name, 0, 8)).rejects.toMatchObject(unavailable);
      await expect(through('read').slices(name, [{ offset: 0, length: 8 }])).rejects.toMatchObject(
        unavailable,
      );
      await expect(through('open').read(name)).rejects.toMatchObject(unavailable);
      await expect(through('read').read(name).then(collect)).rejects.toMatchObject(unavailable);
      await expect(through('stat').size(name)).rejects.toMatchObject(unavailable);
      await expect(through('rm').remove(name)).rejects.toMatchObject(unavailable);
      await expect(through('open').create(other)).rejects.toMatchObject(unavailable);
      await expect(through('open').ping()).rejects.toMatchObject(unavailable);
    },
  );

  test('a blob that is gone is missing, one that is cut is damaged', async () => {
    const blobs = await open();
    await put(blobs, name, pattern(8));
    await expect(blobs.slice(other, 0, 1)).rejects.toMatchObject({ code: 'missing' });
    await expect(blobs.read(other)).rejects.toMatchObject({ code: 'missing' });
    await expect(blobs.slice(name, 0, 9)).rejects.toMatchObject({ code: 'damaged' });
    await expect(blobs.read(name, { end: 9 })).rejects.toMatchObject({ code: 'damaged' });
  });

  test('a folder that is gone as a whole says nothing about its blobs', async () => {
    const blobs = await open();
    await put(blobs, name, pattern(8));
    rmSync(folder, { recursive: true });
    mkdirSync(folder);
    await expect(blobs.read(name)).rejects.toMatchObject({ code: 'unavailable' });
    await expect(blobs.slice(name, 0, 8)).rejects.toMatchObject({ code: 'unavailable' });
    await expect(blobs.size(name)).rejects.toMatchObject({ code: 'unavailable' });
  });

  test('short writes are carried on until all bytes are there', async () => {
    const blobs = await open({
      ...nodeFs,
      open: async (...args) => {
        const handle = await nodeFs.open(...args);
        const write = handle.write.bind(handle) as (
          data: Uint8Array,
          at: number,
          length: number,
        ) => Promise<{ bytesWritten: number; buffer: Uint8Array }>;
        Object.assign(handle, {
          write: (data: Uint8Array, at: number, length: number) => write(data, at, Math.min(length, 7)),
        });
        return handle;
      },
    });
    await put(blobs, name, pattern(1_000));
    expect(pattern(1_000).equals(readFileSync(join(folder, 'a7', name)))).toBe(true);
  });

  test('a disk of 4 MiB that fills up', async ({ skip, onTestFinished }) => {
    const disk = smallDisk();
    if ('reason' in disk) return skip(disk.reason);
    onTestFinished(disk.remove);
    const blobs = createDiskBlobs({ folder: join(disk.folder, 'blobs'), log: silent });
    await blobs.start();
    const writer = await blobs.create(name);
    const fill = async () => {
      for (let i = 0; i < 100; i++) await writer.write(pattern(100_000));
      await writer.commit();
    };
    await expect(fill()).rejects.toMatchObject({ code: 'insufficient_storage' });
    const smaller = await blobs.create(other);
    await smaller.write(pattern(3_000_000));
    await smaller.commit();
    expect(await blobs.size(other)).toBe(3_000_000);
  });
});

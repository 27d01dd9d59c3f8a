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
import { createDiskBlobs } from '../../src/blobs/disk/disk.ts';
import type { DiskFs } from '../../src/blobs/disk/fs.ts';
import { mountSmallDisk } from '../support/small-disk.ts';
import { blobsConformance, collect, name, other, pattern, put } from './conformance.ts';

const host = hostname().replaceAll(/[^A-Za-z0-9-]/g, '_');

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'blobs-'));
});
afterEach(() => {
  rmSync(folder, { recursive: true, force: true });
});

const make = (fs?: DiskFs) => createDiskBlobs({ folder, log: silent, ...(fs && { fs }) });

async function open(fs?: DiskFs) {
  const blobs = make(fs);
  await blobs.start();
  return blobs;
}

/** Every file below the folder. */
const files = () =>
  readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => entry.name);

blobsConformance('blobs on a disk', () => ({
  make,
  open,
  kept: files,
  leave: (at, text) => writeFileSync(join(folder, at), text),
  cut: (at, length) => truncateSync(join(folder, at), length),
  date: (at, modifiedAt) => utimesSync(join(folder, at), modifiedAt / 1000, modifiedAt / 1000),
}));

test('many slices open the file once', async () => {
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
  await blobs.slices(name, places);
  expect(opened).toHaveLength(1);
});

test('a reader that returns early or never starts leaves no file open', async () => {
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

test('a start removes the temporary files of dead processes only', async () => {
  const dead = spawnSync('true').pid;
  mkdirSync(join(folder, 'tmp'));
  const leave = (file: string) => writeFileSync(join(folder, 'tmp', file), 'half');
  leave(`${host}.${dead}.1`);
  leave(`${host}.${process.pid}.9`); // an earlier process with the same pid
  leave(`${host}.${process.ppid}.1`);
  leave('elsewhere.1.1');
  leave('elsewhere.1.2');
  utimesSync(join(folder, 'tmp', 'elsewhere.1.2'), 1_000, 1_000);
  await open();
  expect(files().toSorted()).toEqual(['elsewhere.1.1', `${host}.${process.ppid}.1`].toSorted());
});

test('a start fails where the folder cannot be created', async () => {
  const file = join(folder, 'file');
  writeFileSync(file, '');
  const blobs = createDiskBlobs({ folder: join(file, 'blobs'), log: silent });
  await expect(blobs.start()).rejects.toMatchObject({
    name: 'BlobError',
    code: 'unavailable',
    message: `The folder ${join(file, 'blobs')} is not writable.`,
    hint: expect.stringContaining('read-only'),
  });
});

describe('on a failing disk', () => {
  const full = () => Object.assign(new Error('ENOSPC: no space left on device'), { code: 'ENOSPC' });

  /** File system whose files fail at `method` from the given call on. */
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
  ] as const)('%s fails: insufficient_storage, and nothing is left', async (_, method, from) => {
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

  test('F36: the rename fails: insufficient_storage, and nothing is left', async () => {
    const blobs = await open({ ...nodeFs, rename: () => Promise.reject(full()) });
    const writer = await blobs.create(name);
    await writer.write(pattern(8));
    await expect(writer.commit()).rejects.toMatchObject({ code: 'insufficient_storage' });
    expect(files()).toEqual([]);
  });

  test('the first byte fails: create and ping report insufficient_storage', async () => {
    let fail = false;
    const blobs = await open({
      ...nodeFs,
      open: (...args) => (fail ? Promise.reject(full()) : nodeFs.open(...args)),
    });
    fail = true;
    await expect(blobs.create(name)).rejects.toMatchObject({ code: 'insufficient_storage' });
    await expect(blobs.ping()).rejects.toMatchObject({ code: 'insufficient_storage' });
  });

  /** File system that refuses `operation`. */
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

  test('blobs of a missing folder are unavailable, not missing', async () => {
    const blobs = await open();
    await put(blobs, name, pattern(8));
    rmSync(folder, { recursive: true });
    mkdirSync(folder);
    await expect(blobs.read(name)).rejects.toMatchObject({ code: 'unavailable' });
    await expect(blobs.slice(name, 0, 8)).rejects.toMatchObject({ code: 'unavailable' });
    await expect(blobs.size(name)).rejects.toMatchObject({ code: 'unavailable' });
  });

  test('short writes are repeated until all bytes are written', async () => {
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
    const disk = mountSmallDisk();
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

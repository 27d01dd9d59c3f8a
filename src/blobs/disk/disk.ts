import { constants } from 'node:fs';
import * as nodeFs from 'node:fs/promises';
import type { FileHandle } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { pid } from 'node:process';
import type { Log } from '../../base/log.ts';
import { isMissingFile } from '../../base/missing-file.ts';
import { BlobError, isBlobMissing } from '../../core/blob-error.ts';
import type { Blobs } from '../blobs.ts';
import { isBlobName } from '../names.ts';
import { readRanges } from '../read-ranges.ts';
import { createWriter } from '../writer.ts';
import type { DiskFs } from './fs.ts';
import { truncatedBlob, withBlobErrors, ifExists, missingBlob, toBlobError } from './faults.ts';
import { blobPath } from './paths.ts';
import { readRange, readSlice } from './read.ts';
import { createDiskQuarantine } from './quarantine.ts';
import { removeLeftovers, temporaryName } from './temporary.ts';
import { type Spool, discard, flushFolder, writeAll } from './write.ts';

export interface DiskBlobsOptions {
  /** Created if missing; must hold nothing else. */
  folder: string;
  log: Log;
  fs?: DiskFs;
}

/** Reading a gap of this size costs less than a second read. */
const gapBytes = 16 * 1024;

/**
 * Stores blobs as files, `<folder>/<two hex digits>/<name>`. A blob is written in `<folder>/tmp`, flushed and renamed, and its folder
 * is flushed: it is invisible before `commit` and survives a power cut after it. A failed write removes all of the blob.
 * @throws BlobError from `start` if the folder is not writable
 */
export function createDiskBlobs({ folder, log, fs = nodeFs }: DiskBlobsOptions): Blobs {
  const temporary = join(folder, 'tmp');
  const labelPath = join(folder, 'installation');
  const { pathOf: quarantinePath, ...quarantine } = createDiskQuarantine(fs, folder);
  const durableFolders = new Set<string>();
  let counter = 0;
  let starting: Promise<void> | undefined;

  const makeBlobFolder = async (path: string) => {
    if (durableFolders.has(path)) return;
    await fs.mkdir(path, { recursive: true, mode: 0o700 });
    await flushFolder(fs, folder);
    durableFolders.add(path);
  };

  const openSpool = async (): Promise<Spool> => {
    const path = join(temporary, temporaryName(pid, ++counter));
    return { path, handle: await fs.open(path, 'wx', 0o600) };
  };

  const createFile = async (path: string, makeFolder = async () => {}) => {
    const spool = await withBlobErrors(() => openSpool());
    return createWriter({
      bufferedBytes: () => 0,
      write: (chunk) => withBlobErrors(() => writeAll(spool.handle, chunk)),
      commit: () =>
        withBlobErrors(async () => {
          await spool.handle.sync();
          await spool.handle.close();
          await makeFolder();
          await fs.rename(spool.path, path);
          await flushFolder(fs, dirname(path));
        }),
      discard: () => withBlobErrors(() => discard(fs, spool)),
    });
  };

  const unreadable = (name: string, error: unknown) =>
    isMissingFile(error) ? missingBlob(fs, temporary, name, error) : toBlobError(error);

  const openBlob = async (name: string): Promise<FileHandle> => {
    const path = blobPath(folder, name);
    try {
      return await fs.open(path, constants.O_RDONLY);
    } catch (error) {
      throw await unreadable(name, error);
    }
  };

  const slices: Blobs['slices'] = async (name, ranges) => {
    const handle = await openBlob(name);
    try {
      return await withBlobErrors(() =>
        readRanges(ranges, gapBytes, (offset, length) => readSlice(handle, name, offset, length)),
      );
    } finally {
      // After a failed read, waits for the others.
      await handle.close();
    }
  };

  const prepare = async () => {
    try {
      await fs.mkdir(temporary, { recursive: true, mode: 0o700 });
      const removed = await removeLeftovers(fs, temporary, pid);
      if (removed > 0) log.info({ removed }, 'Removed unfinished files of earlier processes.');
    } catch (error) {
      throw new BlobError(
        'unavailable',
        `The folder ${folder} is not writable.`,
        'Create it, make this user its owner, and check that its disk is neither full nor mounted read-only.',
        { cause: error },
      );
    }
  };

  return {
    start() {
      // Two concurrent runs would remove each other's files as leftovers.
      starting ??= prepare().finally(() => (starting = undefined));
      return starting;
    },

    // Callers commit or abort their open writers.
    async stop() {},

    async create(name) {
      const path = blobPath(folder, name);
      return createFile(path, () => makeBlobFolder(dirname(path)));
    },

    async read(name, range = {}) {
      const handle = await openBlob(name);
      try {
        const { size } = await withBlobErrors(() => handle.stat());
        const end = range.end ?? size;
        if (end > size) throw truncatedBlob(name, size, end);
        return readRange(handle, name, range.start ?? 0, end);
      } catch (error) {
        await handle.close();
        throw error;
      }
    },

    async slice(name, offset, length) {
      const [bytes] = await slices(name, [{ offset, length }]);
      return bytes!;
    },

    slices,

    async size(name) {
      const path = blobPath(folder, name);
      try {
        return (await fs.stat(path)).size;
      } catch (error) {
        const fault = await unreadable(name, error);
        if (isBlobMissing(fault)) return undefined;
        throw fault;
      }
    },

    async remove(name) {
      const path = blobPath(folder, name);
      await withBlobErrors(async () => {
        await fs.rm(path, { force: true });
        await fs.rm(quarantinePath(name), { force: true });
      });
    },

    async *list(only) {
      for (const digits of only === undefined ? await fs.readdir(folder) : [only]) {
        if (!/^[0-9a-f]{2}$/.test(digits)) continue;
        for (const name of (await ifExists(() => fs.readdir(join(folder, digits)))) ?? []) {
          const path = join(folder, digits, name);
          const found = isBlobName(name) ? await ifExists(() => fs.stat(path)) : undefined;
          if (found) yield { name, bytes: found.size, modifiedAt: Math.floor(found.mtimeMs) };
        }
      }
    },

    ...quarantine,

    readLabel: async () =>
      (await withBlobErrors(() => ifExists(() => fs.readFile(labelPath, 'utf8'))))?.trim(),

    async label(installation) {
      const writer = await createFile(labelPath);
      await writer.write(Buffer.from(`${installation}\n`));
      await writer.commit();
    },

    ping: () =>
      withBlobErrors(async () => {
        const spool = await openSpool();
        try {
          await spool.handle.write(new Uint8Array(1));
          await spool.handle.sync();
        } finally {
          await discard(fs, spool);
        }
      }),
  };
}

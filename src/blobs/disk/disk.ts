import { constants } from 'node:fs';
import * as nodeFs from 'node:fs/promises';
import type { FileHandle } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { pid } from 'node:process';
import type { Log } from '../../base/log.ts';
import { BlobError } from '../../core/blob-error.ts';
import type { Blobs } from '../blobs.ts';
import { isName } from '../names.ts';
import { readRanges } from '../read-ranges.ts';
import { createWriter } from '../writer.ts';
import type { DiskFs } from './fs.ts';
import { truncatedBlob, withBlobErrors, ifExists, isMissing, missingBlob, toBlobError } from './faults.ts';
import { modifiedAtOf, pathOf } from './paths.ts';
import { readRange, readSlice } from './read.ts';
import { createQuarantine } from './quarantine.ts';
import { removeLeftovers, temporaryName } from './temporary.ts';
import { type Spool, discard, flushFolder, writeAll } from './write.ts';

export interface DiskBlobsOptions {
  /** Made if need be. Everything in it belongs to the blobs. */
  folder: string;
  log: Log;
  fs?: DiskFs;
}

/** To read costs more than to read so much for nothing. */
const gapBytes = 16 * 1024;

/**
 * Blobs as files: `<folder>/<two hex digits>/<name>`. A blob is written under a name in `<folder>/tmp`, flushed, renamed
 * into place, and the entry in its folder flushed too: after `commit` it survives a power cut, before it nobody can see
 * it. A write that fails cleans everything of that blob away.
 * @throws BlobError from `start`, when the folder cannot be written to
 */
export function createDiskBlobs({ folder, log, fs = nodeFs }: DiskBlobsOptions): Blobs {
  const temporary = join(folder, 'tmp');
  const labelPath = join(folder, 'installation');
  const { pathOf: asidePath, ...aside } = createQuarantine(fs, folder);
  const fans = new Set<string>();
  let counter = 0;
  let starting: Promise<void> | undefined;

  /** Makes the folder of a blob, durably, the first time it is needed. */
  const prepareFan = async (fan: string) => {
    if (fans.has(fan)) return;
    await fs.mkdir(fan, { recursive: true, mode: 0o700 });
    await flushFolder(fs, folder);
    fans.add(fan);
  };

  const begin = async (): Promise<Spool> => {
    const path = join(temporary, temporaryName(pid, ++counter));
    return { path, handle: await fs.open(path, 'wx', 0o600) };
  };

  /** @param prepare makes the folder it will stand in */
  const createFile = async (path: string, prepare = async () => {}) => {
    const spool = await withBlobErrors(() => begin());
    return createWriter({
      held: () => 0,
      write: (chunk) => withBlobErrors(() => writeAll(spool.handle, chunk)),
      commit: () =>
        withBlobErrors(async () => {
          await spool.handle.sync();
          await spool.handle.close();
          await prepare();
          await fs.rename(spool.path, path);
          await flushFolder(fs, dirname(path));
        }),
      discard: () => withBlobErrors(() => discard(fs, spool)),
    });
  };

  const unreadable = (name: string, error: unknown) =>
    isMissing(error) ? missingBlob(fs, temporary, name, error) : toBlobError(error);

  const openBlob = async (name: string): Promise<FileHandle> => {
    const path = pathOf(folder, name);
    try {
      return await fs.open(path, constants.O_RDONLY);
    } catch (error) {
      throw await unreadable(name, error);
    }
  };

  const slices: Blobs['slices'] = async (name, places) => {
    const handle = await openBlob(name);
    try {
      return await withBlobErrors(() =>
        readRanges(places, gapBytes, (offset, length) => readSlice(handle, name, offset, length)),
      );
    } finally {
      // Waits for reads that are still under way when one has failed.
      await handle.close();
    }
  };

  const prepare = async () => {
    try {
      await fs.mkdir(temporary, { recursive: true, mode: 0o700 });
      const removed = await removeLeftovers(fs, temporary, pid);
      if (removed > 0) log.info({ removed }, 'Removed what earlier processes had not finished writing.');
    } catch (error) {
      throw new BlobError(
        'unavailable',
        `The folder ${folder} cannot be written to.`,
        'Create it, let this user own it, and check that its disk is neither full nor mounted read-only.',
        { cause: error },
      );
    }
  };

  return {
    start() {
      // Two at once would take each other's files for those of an earlier process.
      starting ??= prepare().finally(() => (starting = undefined));
      return starting;
    },

    // Writers that are still open belong to their callers, who commit or abort them.
    async stop() {},

    async create(name) {
      const path = pathOf(folder, name);
      return createFile(path, () => prepareFan(dirname(path)));
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
      const path = pathOf(folder, name);
      try {
        return (await fs.stat(path)).size;
      } catch (error) {
        const fault = await unreadable(name, error);
        if (fault instanceof BlobError && fault.code === 'missing') return undefined;
        throw fault;
      }
    },

    async remove(name) {
      const path = pathOf(folder, name);
      await withBlobErrors(async () => {
        await fs.rm(path, { force: true });
        await fs.rm(asidePath(name), { force: true });
      });
    },

    async *list() {
      for (const fan of await fs.readdir(folder)) {
        if (!/^[0-9a-f]{2}$/.test(fan)) continue;
        for (const name of await fs.readdir(join(folder, fan))) {
          const modifiedAt = isName(name) ? await modifiedAtOf(fs, join(folder, fan, name)) : undefined;
          if (modifiedAt !== undefined) yield { name, modifiedAt: Math.floor(modifiedAt) };
        }
      }
    },

    ...aside,

    readLabel: async () =>
      (await withBlobErrors(() => ifExists(() => fs.readFile(labelPath, 'utf8'))))?.trim(),

    async label(installation) {
      const writer = await createFile(labelPath);
      await writer.write(Buffer.from(`${installation}\n`));
      await writer.commit();
    },

    ping: () =>
      withBlobErrors(async () => {
        const spool = await begin();
        try {
          await spool.handle.write(new Uint8Array(1));
          await spool.handle.sync();
        } finally {
          await discard(fs, spool);
        }
      }),
  };
}

import { open, readdir, rename, rm, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { makeFolder } from '../../../../base/make-folder.ts';
import { undefinedIfMissing } from '../../../../base/missing-file.ts';
import { isJobId, isResultFile, type JobStorage, outputFolder } from './job-storage.ts';

export interface FolderStorageOptions {
  /** Absolute path of the folder with the jobs of the model. */
  folder: string;
  /** Permissions of new folders. */
  mode: number;
}

/** Jobs in a folder, which all processes and runners see under the same path. */
export function createFolderStorage({ folder, mode }: FolderStorageOptions): JobStorage {
  const pathOf = (job: string, name: string) => join(folder, job, name);
  /** Name of a file that is being written. */
  const draftOf = (job: string, name: string) => pathOf(job, `.${name}`);

  const makeJobFolder = (job: string) => makeFolder(pathOf(job, outputFolder), mode);

  async function create(job: string, name: string) {
    await makeJobFolder(job);
    const draft = draftOf(job, name);
    const handle = await open(draft, 'w', mode & 0o666);
    return {
      write: (chunk: Uint8Array) => handle.writeFile(chunk),
      async commit() {
        await handle.sync();
        await handle.close();
        await rename(draft, pathOf(job, name));
      },
      async abort() {
        await handle.close().catch(() => {});
        await rm(join(folder, job), { recursive: true, force: true });
      },
    };
  }

  return {
    address: pathOf,
    list: async () => (await namesIn(folder)).filter(isJobId).toSorted(),
    create,

    async write(job, name, text) {
      const writer = await create(job, name);
      await writer.write(Buffer.from(text));
      await writer.commit();
    },

    async read(job, name, start, length) {
      const handle = await open(pathOf(job, name)).catch(undefinedIfMissing);
      if (!handle) return undefined;
      try {
        const bytes = Buffer.allocUnsafe(length);
        const { bytesRead } = await handle.read(bytes, 0, length, start);
        return bytes.subarray(0, bytesRead);
      } finally {
        await handle.close();
      }
    },

    async parts(job) {
      const paths = await readdir(pathOf(job, outputFolder), { recursive: true }).catch(undefinedIfMissing);
      const names = (paths ?? []).map((path) => `${outputFolder}/${path}`).filter(isResultFile);
      const found = await Promise.all(
        names.map(async (name) => ({ name, stats: await stat(pathOf(job, name)).catch(undefinedIfMissing) })),
      );
      return found.flatMap(({ name, stats }) => (stats?.isFile() ? [{ name, size: stats.size }] : []));
    },

    remove: (job) => rm(join(folder, job), { recursive: true, force: true }),
  };
}

async function namesIn(folder: string): Promise<string[]> {
  return (await readdir(folder).catch(undefinedIfMissing)) ?? [];
}

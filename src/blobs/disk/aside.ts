import { dirname, join } from 'node:path';
import type { Blobs } from '../blobs.ts';
import { isName } from '../names.ts';
import { guarded, isMissing } from './faults.ts';
import type { DiskFs } from './fs.ts';
import { modifiedAtOf, pathOf } from './paths.ts';
import { flushFolder } from './write.ts';

export type Aside = Pick<Blobs, 'setAside' | 'bringBack' | 'listAside'> & {
  /** Where a blob stands that was set aside. */
  pathOf: (name: string) => string;
};

/** Blobs out of use, in `<folder>/quarantine`. Since when each is there is the time of its file. */
export function createAside(fs: DiskFs, folder: string): Aside {
  const quarantine = join(folder, 'quarantine');
  const asidePath = (name: string) => join(quarantine, name);

  /** Of two processes that do the same with a blob, one comes too late. */
  const unlessGone = (work: () => Promise<void>) =>
    guarded(() =>
      work().catch((error: unknown) => {
        if (!isMissing(error)) throw error;
      }),
    );

  const move = async (from: string, to: string) => {
    await fs.mkdir(dirname(to), { recursive: true, mode: 0o700 });
    await fs.rename(from, to);
    await flushFolder(fs, dirname(to));
  };

  return {
    pathOf: asidePath,

    async setAside(name, at) {
      const path = pathOf(folder, name);
      await unlessGone(async () => {
        await fs.utimes(path, at / 1000, at / 1000);
        await move(path, asidePath(name));
      });
    },

    async bringBack(name) {
      const path = pathOf(folder, name);
      await unlessGone(() => move(asidePath(name), path));
    },

    async *listAside() {
      for (const name of await namesIn(fs, quarantine)) {
        const since = isName(name) ? await modifiedAtOf(fs, asidePath(name)) : undefined;
        if (since !== undefined) yield { name, since: Math.round(since) };
      }
    },
  };
}

async function namesIn(fs: DiskFs, folder: string): Promise<string[]> {
  try {
    return await fs.readdir(folder);
  } catch (error) {
    if (isMissing(error)) return [];
    throw error;
  }
}

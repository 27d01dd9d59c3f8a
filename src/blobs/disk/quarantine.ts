import { dirname, join } from 'node:path';
import type { Blobs } from '../blobs.ts';
import { isName } from '../names.ts';
import { withBlobErrors, ifExists } from './faults.ts';
import type { DiskFs } from './fs.ts';
import { modifiedAtOf, pathOf } from './paths.ts';
import { flushFolder } from './write.ts';

export type Quarantine = Pick<Blobs, 'quarantine' | 'restore' | 'listQuarantined'> & {
  /** Where a blob stands that was set aside. */
  pathOf: (name: string) => string;
};

/** Blobs out of use, in `<folder>/quarantine`. Since when each is there is the time of its file. */
export function createQuarantine(fs: DiskFs, folder: string): Quarantine {
  const quarantine = join(folder, 'quarantine');
  const asidePath = (name: string) => join(quarantine, name);

  /** Of two processes that move the same blob, one comes too late. */
  const move = (from: string, to: string, at?: number) =>
    withBlobErrors(() =>
      ifExists(async () => {
        if (at !== undefined) await fs.utimes(from, at / 1000, at / 1000);
        await fs.mkdir(dirname(to), { recursive: true, mode: 0o700 });
        await fs.rename(from, to);
        await flushFolder(fs, dirname(to));
      }),
    );

  return {
    pathOf: asidePath,

    quarantine: async (name, at) => move(pathOf(folder, name), asidePath(name), at),
    restore: async (name) => move(asidePath(name), pathOf(folder, name)),

    async *listQuarantined() {
      for (const name of (await ifExists(() => fs.readdir(quarantine))) ?? []) {
        const since = isName(name) ? await modifiedAtOf(fs, asidePath(name)) : undefined;
        if (since !== undefined) yield { name, since: Math.round(since) };
      }
    },
  };
}

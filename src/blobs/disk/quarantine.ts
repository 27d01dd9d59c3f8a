import { dirname, join } from 'node:path';
import type { Blobs } from '../blobs.ts';
import { isBlobName } from '../names.ts';
import { withBlobErrors, ifExists } from './faults.ts';
import type { DiskFs } from './fs.ts';
import { readModifiedAt, blobPath } from './paths.ts';
import { flushFolder } from './write.ts';

export type DiskQuarantine = Pick<Blobs, 'quarantine' | 'restore' | 'listQuarantined'> & {
  /** Path of a quarantined blob. */
  pathOf: (name: string) => string;
};

/** Keeps quarantined blobs in `<folder>/quarantine`. The modification time of the file is the start of its quarantine. */
export function createDiskQuarantine(fs: DiskFs, folder: string): DiskQuarantine {
  const quarantine = join(folder, 'quarantine');
  const quarantinePath = (name: string) => join(quarantine, name);

  /** Does nothing if another process has moved the blob already. */
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
    pathOf: quarantinePath,

    quarantine: async (name, at) => move(blobPath(folder, name), quarantinePath(name), at),
    restore: async (name) => move(quarantinePath(name), blobPath(folder, name)),

    async *listQuarantined() {
      for (const name of (await ifExists(() => fs.readdir(quarantine))) ?? []) {
        const since = isBlobName(name) ? await readModifiedAt(fs, quarantinePath(name)) : undefined;
        if (since !== undefined) yield { name, since: Math.round(since) };
      }
    },
  };
}

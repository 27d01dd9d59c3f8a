import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmdirSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

export interface SmallDisk {
  folder: string;
  remove: () => void;
}

/** Mounts a small file system, or returns the reason why it cannot: mounting requires root. */
export function mountSmallDisk(size = '4m'): SmallDisk | { reason: string } {
  const folder = mkdtempSync(join(tmpdir(), 'small-disk-'));
  const mounted = spawnSync('mount', ['-t', 'tmpfs', '-o', `size=${size}`, 'tmpfs', folder], {
    encoding: 'utf8',
  });
  if (mounted.status !== 0) {
    rmdirSync(folder);
    const reason = (mounted.error?.message ?? mounted.stderr).trim();
    console.warn(`No small disk for the test of a full one: ${reason}`);
    return { reason };
  }
  return {
    folder,
    remove() {
      spawnSync('umount', ['-l', folder]);
      rmdirSync(folder);
    },
  };
}

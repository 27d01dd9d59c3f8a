import { statfs } from 'node:fs/promises';
import type { Clock, Timer } from '../base/clock.ts';
import type { Log } from '../base/log.ts';
import type { Service } from '../base/service.ts';
import { ApiError } from '../core/errors.ts';

export interface DiskSpace {
  freeBytes: number;
  totalBytes: number;
}

export interface DiskReserveDeps {
  /** Folders that the server writes to, on one disk or several. */
  folders: readonly string[];
  /** Bytes that are kept free; `defaultReserve` if absent. */
  reserveBytes: number | undefined;
  clock: Clock;
  log: Log;
  /** Replaceable for tests. */
  read?: (folder: string) => Promise<DiskSpace>;
}

const pollMs = 1_000;

/** Bytes that are kept free on a disk by default: 5 %, at most 1 GiB. */
export function defaultReserve(totalBytes: number): number {
  return Math.min(Math.floor(totalBytes / 20), 2 ** 30);
}

/**
 * Keeps a part of the disk for running batches: what clients store is refused while less is free. So a client that stores much does
 * not stop the batches of the others.
 */
export function createDiskReserve({ folders, reserveBytes, clock, log, read = readSpace }: DiskReserveDeps) {
  let low: { folder: string; freeBytes: number; reserve: number } | undefined;
  let timer: Timer | undefined;
  let stopped = false;

  async function look(): Promise<void> {
    const wasLow = low !== undefined;
    let found: typeof low;
    for (const folder of folders) {
      const space = await read(folder).catch(() => undefined);
      if (!space) continue;
      const reserve = reserveBytes ?? defaultReserve(space.totalBytes);
      if (space.freeBytes < reserve) found ??= { folder, freeBytes: space.freeBytes, reserve };
    }
    low = found;
    if (found && !wasLow)
      log.error(
        { folder: found.folder, free_bytes: found.freeBytes, reserve_bytes: found.reserve },
        'The disk is almost full: only running batches are stored. Free some space.',
      );
    if (!found && wasLow) log.info({}, 'The disk has room again.');
    if (!stopped) timer = clock.after(pollMs, () => void look());
  }

  return {
    /** @throws ApiError `insufficient_storage` (507) while the disk is almost full */
    require(): void {
      if (!low) return;
      throw new ApiError(
        'insufficient_storage',
        'The disk of the server is almost full, and the rest is kept for running batches. Ask the operator to free some space.',
        { retryAfter: 60 },
      );
    },
    start: () => look(),
    stop() {
      stopped = true;
      timer?.cancel();
      return Promise.resolve();
    },
  } satisfies Service & { require(): void };
}

async function readSpace(folder: string): Promise<DiskSpace> {
  const { bavail, blocks, bsize } = await statfs(folder);
  return { freeBytes: bavail * bsize, totalBytes: blocks * bsize };
}

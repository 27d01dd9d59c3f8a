import type { Blobs } from '../blobs/blobs.ts';
import type { Clock, Timer } from '../base/clock.ts';
import type { Log } from '../base/log.ts';
import type { Service } from '../base/service.ts';
import type { StoredFile } from '../core/file.ts';
import type { FileStore } from '../store/store.ts';
import { indexName } from './upload.ts';

export interface SweeperDeps {
  store: { files: FileStore };
  blobs: Blobs;
  clock: Clock;
  log: Log;
}

export interface Sweeper extends Service {
  /** One round, at once. Resolves when it is done. */
  sweep(): Promise<void>;
}

const hour = 3_600_000;
/** The first round waits until the start is over. */
const firstRound = 60_000;
const expiredAtOnce = 100;
const namesAtOnce = 500;

/**
 * Removes what is of no use any more, every hour: files past their expiry (which answer 404 from that instant on by
 * themselves), and blobs that no row has named for an hour, left by a crash between writing and committing (F02).
 */
export function createSweeper({ store, blobs, clock, log }: SweeperDeps): Sweeper {
  let timer: Timer | undefined;
  let round: Promise<void> | undefined;
  let stopped = true;

  async function removeExpired(): Promise<number> {
    let removed = 0;
    for (;;) {
      if (stopped) return removed;
      const files = await store.files.removeExpired(clock.now(), expiredAtOnce);
      for (const file of files) await removeBlobs(blobs, file);
      removed += files.length;
      if (files.length < expiredAtOnce) return removed;
    }
  }

  async function removeOrphans(): Promise<number> {
    const before = clock.now() - hour;
    let removed = 0;
    let old: string[] = [];
    for await (const { name, modifiedAt } of blobs.list()) {
      if (stopped) return removed;
      if (modifiedAt > before) continue;
      old.push(name);
      if (old.length < namesAtOnce) continue;
      removed += await removeUnnamed(old);
      old = [];
    }
    return removed + (await removeUnnamed(old));
  }

  async function removeUnnamed(names: string[]): Promise<number> {
    if (names.length === 0) return 0;
    const owners = [...new Set(names.map(ownerOf))];
    const known = new Set(await store.files.knownBlobs(owners));
    const orphans = names.filter((name) => !known.has(ownerOf(name)));
    for (const name of orphans) await blobs.remove(name);
    return orphans.length;
  }

  async function once(): Promise<void> {
    try {
      const expired = await removeExpired();
      const orphans = await removeOrphans();
      if (expired + orphans > 0) log.info({ expired, orphans }, 'swept files');
    } catch (error) {
      log.error({ err: error }, 'sweeping files failed; the next round tries again');
    }
  }

  function sweep(): Promise<void> {
    round ??= once().finally(() => {
      round = undefined;
    });
    return round;
  }

  function plan(ms: number): void {
    timer = clock.after(ms, () => {
      void sweep().then(() => {
        if (!stopped) plan(hour);
      });
    });
  }

  return {
    sweep,
    async start() {
      if (!stopped) return;
      stopped = false;
      plan(firstRound);
    },
    async stop() {
      stopped = true;
      timer?.cancel();
      await round;
    },
  };
}

/** Removes the content of a file whose row is gone. */
export async function removeBlobs(blobs: Blobs, file: StoredFile): Promise<void> {
  await blobs.remove(file.blobId);
  await blobs.remove(indexName(file.blobId));
}

function ownerOf(name: string): string {
  return name.endsWith('.index') ? name.slice(0, -'.index'.length) : name;
}

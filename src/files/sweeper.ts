import type { Blobs } from '../blobs/blobs.ts';
import { type Clock, createTimeBounds, type Timer } from '../base/clock.ts';
import type { Log } from '../base/log.ts';
import type { Service } from '../base/service.ts';
import type { InstallationStore } from '../store/store.ts';
import type { FileStore } from '../store/contract/files.ts';
import { indexName } from './upload.ts';

export interface SweeperDeps {
  store: { files: FileStore; installation: InstallationStore; scrub(): Promise<void> };
  blobs: Blobs;
  clock: Clock;
  /** The one by which the disk dates its files. */
  diskClock: Clock;
  log: Log;
  /** How long what no row names is kept aside. */
  quarantineMs: number;
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
 * Removes what is of no use any more, every hour: what was deleted while its blob could not be, files past their expiry
 * (which answer 404 from that instant on by themselves), and blobs that no row has named for an hour, left by a crash
 * between writing and committing (F02). These last are set aside for some days first: a database restored from a backup
 * knows none of what was stored after it, and the blobs come back when a later one does.
 */
export function createSweeper({ store, blobs, clock, diskClock, log, quarantineMs }: SweeperDeps): Sweeper {
  // What a clock that was set wrong has removed does not come back when it is set right.
  const time = createTimeBounds(clock);
  const diskTime = createTimeBounds(diskClock);
  let timer: Timer | undefined;
  let round: Promise<void> | undefined;
  let stopped = true;

  /** The content of all files whose rows are gone. One that cannot be removed does not keep the others. */
  async function removeDeleted(): Promise<void> {
    for (;;) {
      const deleted = await store.files.removedBlobs(namesAtOnce);
      const gone: string[] = [];
      for (const blobId of deleted) {
        try {
          await removeContent(blobs, blobId);
          gone.push(blobId);
        } catch (error) {
          log.error({ err: error, blob: blobId }, stillThere);
        }
      }
      await store.files.forgetRemoved(gone);
      if (deleted.length < namesAtOnce || gone.length === 0) return;
    }
  }

  async function removeExpired(): Promise<number> {
    let removed = 0;
    for (;;) {
      if (stopped) return removed;
      const files = await store.files.removeExpired(time.earliest(), expiredAtOnce);
      removed += files.length;
      if (files.length < expiredAtOnce) return removed;
    }
  }

  async function setOrphansAside(): Promise<number> {
    const [now, diskNow] = [time.earliest(), diskTime.earliest()];
    let orphans = 0;
    for await (const names of inGroups(blobs.list())) {
      if (stopped) break;
      const old = names.filter(({ modifiedAt }) => modifiedAt <= diskNow - hour);
      const known = await knownOf(old);
      for (const { name } of old) {
        if (known.has(ownerOf(name))) continue;
        await blobs.quarantine(name, now);
        orphans++;
      }
    }
    return orphans;
  }

  /** Brings back what a row names after all, and ends what has rested long enough. */
  async function lookAtAside(): Promise<{ ended: number; broughtBack: number }> {
    const before = time.earliest() - quarantineMs;
    const counts = { ended: 0, broughtBack: 0 };
    for await (const rested of inGroups(blobs.listQuarantined())) {
      const known = await knownOf(rested);
      for (const { name, since } of rested) {
        if (known.has(ownerOf(name))) {
          await blobs.restore(name);
          counts.broughtBack++;
        } else if (since <= before) {
          await blobs.remove(name);
          counts.ended++;
        }
      }
    }
    return counts;
  }

  async function knownOf(names: { name: string }[]): Promise<Set<string>> {
    const owners = [...new Set(names.map(({ name }) => ownerOf(name)))];
    return new Set(owners.length > 0 ? await store.files.referencedBlobs(owners) : []);
  }

  /** Asked each time: the disk under the folder may have been changed, or the database. */
  async function requireOurs(): Promise<void> {
    const [label, installation] = await Promise.all([blobs.readLabel(), store.installation.id()]);
    if (label !== installation)
      throw new Error(`The files are of installation ${label}, the database of ${installation}.`);
  }

  async function once(): Promise<void> {
    try {
      await requireOurs();
      const expired = await removeExpired();
      await removeDeleted();
      const { ended, broughtBack } = await lookAtAside();
      const orphans = await setOrphansAside();
      await store.scrub();
      if (expired + orphans + ended + broughtBack > 0)
        log.info({ expired, orphans, ended, broughtBack }, 'swept files');
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
      // Before anybody asks for them.
      await lookAtAside();
      plan(firstRound);
    },
    async stop() {
      stopped = true;
      timer?.cancel();
      await round;
    },
  };
}

export const stillThere = 'a deleted file is still on the disk; the next sweep tries again';

/** Removes a blob and what stands beside it. */
export async function removeContent(blobs: Blobs, blobId: string): Promise<void> {
  await blobs.remove(blobId);
  await blobs.remove(indexName(blobId));
}

async function* inGroups<T>(items: AsyncIterable<T>): AsyncGenerator<T[]> {
  let group: T[] = [];
  for await (const item of items) {
    group.push(item);
    if (group.length < namesAtOnce) continue;
    yield group;
    group = [];
  }
  if (group.length > 0) yield group;
}

function ownerOf(name: string): string {
  return name.endsWith('.index') ? name.slice(0, -'.index'.length) : name;
}

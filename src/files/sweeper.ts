import type { Blobs } from '../blobs/blobs.ts';
import { type Clock, createTimeBounds, type Timer } from '../base/clock.ts';
import type { Log } from '../base/log.ts';
import type { Service } from '../base/service.ts';
import { type Duties, soleDuties } from '../core/duties.ts';
import type { InstallationStore } from '../store/store.ts';
import type { FileStore } from '../store/contract/files.ts';
import { indexName } from './upload.ts';

export interface SweeperDeps {
  store: { files: FileStore; installation: InstallationStore; scrub(): Promise<void> };
  blobs: Blobs;
  clock: Clock;
  /** Clock that dates the blobs. */
  diskClock: Clock;
  log: Log;
  /** The holder sweeps; this process if absent. */
  duties?: Pick<Duties, 'isHolder'>;
  /** Milliseconds that unused blobs stay in quarantine. */
  quarantineMs: number;
}

export interface Sweeper extends Service {
  /** Sweeps once, now. */
  sweep(): Promise<void>;
}

const hour = 3_600_000;
/** Delay of the first round after start-up. */
const firstRound = 60_000;
const expiredAtOnce = 100;
const namesAtOnce = 500;

/**
 * Removes unused blobs every hour, on one process of the installation: of deleted files whose blobs could not be removed, of
 * expired files (which answer 404 from their expiry on), and blobs that no row has named for an hour, left by a crash between
 * writing and committing (F02). The last are quarantined for some days first: a database restored from a backup does not list
 * later files, and a later backup does.
 */
export function createSweeper({
  store,
  blobs,
  clock,
  diskClock,
  log,
  duties = soleDuties(),
  quarantineMs,
}: SweeperDeps): Sweeper {
  // Lower bounds, because a removal by a wrong clock cannot be undone.
  const time = createTimeBounds(clock);
  const diskTime = createTimeBounds(diskClock);
  let timer: Timer | undefined;
  let round: Promise<void> | undefined;
  let stopped = true;

  /** Removes the content of all deleted files. One that fails does not keep the others. */
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

  async function quarantineOrphans(): Promise<number> {
    const [now, diskNow] = [time.earliest(), diskTime.earliest()];
    let orphans = 0;
    for await (const names of inGroups(blobs.list())) {
      if (stopped) break;
      const old = names.filter(({ modifiedAt }) => modifiedAt <= diskNow - hour);
      const referenced = await referencedOf(old);
      for (const { name } of old) {
        if (referenced.has(ownerOf(name))) continue;
        await blobs.quarantine(name, now);
        orphans++;
      }
    }
    return orphans;
  }

  /** Restores quarantined blobs that a row names, and removes those whose time is over. */
  async function reviewQuarantine(): Promise<{ ended: number; broughtBack: number }> {
    const before = time.earliest() - quarantineMs;
    const counts = { ended: 0, broughtBack: 0 };
    for await (const quarantined of inGroups(blobs.listQuarantined())) {
      const referenced = await referencedOf(quarantined);
      for (const { name, since } of quarantined) {
        if (referenced.has(ownerOf(name))) {
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

  async function referencedOf(names: { name: string }[]): Promise<Set<string>> {
    const owners = [...new Set(names.map(({ name }) => ownerOf(name)))];
    return new Set(owners.length > 0 ? await store.files.referencedBlobs(owners) : []);
  }

  /** Checks in every round: disk or database may have been exchanged. */
  async function requireMatch(): Promise<void> {
    const [label, installation] = await Promise.all([blobs.readLabel(), store.installation.id()]);
    if (label !== installation)
      throw new Error(`The files are of installation ${label}, the database of ${installation}.`);
  }

  async function once(): Promise<void> {
    try {
      await requireMatch();
      const expired = await removeExpired();
      await removeDeleted();
      const { ended, broughtBack } = await reviewQuarantine();
      const orphans = await quarantineOrphans();
      await store.scrub();
      if (expired + orphans + ended + broughtBack > 0)
        log.info({ expired, orphans, ended, broughtBack }, 'swept files');
    } catch (error) {
      log.error({ err: error }, 'sweeping files failed; the next round tries again');
    }
  }

  function sweep(): Promise<void> {
    round ??= once().finally(() => (round = undefined));
    return round;
  }

  function plan(ms: number): void {
    timer = clock.after(ms, () => void sweepAndPlan());
  }

  async function sweepAndPlan(): Promise<void> {
    if (duties.isHolder()) await sweep();
    if (!stopped) plan(hour);
  }

  return {
    sweep,
    async start() {
      if (!stopped) return;
      stopped = false;
      // Restores files before the first request for them.
      await reviewQuarantine();
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

/** Removes a blob and its index. */
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

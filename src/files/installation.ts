import type { Blobs } from '../blobs/blobs.ts';
import type { Clock } from '../base/clock.ts';
import type { Ids } from '../base/ids.ts';
import type { Log } from '../base/log.ts';
import type { Service } from '../base/service.ts';
import { StoreError } from '../core/store-error.ts';
import type { InstallationStore } from '../store/store.ts';
import type { FileStore } from '../store/contract/files.ts';

export interface InstallationDeps {
  store: { installation: InstallationStore; files: FileStore };
  blobs: Blobs;
  clock: Clock;
  ids: Ids;
  log: Log;
  /** Location of the blobs, for messages. */
  folder: string;
}

/** Label that an operator writes instead of an id, to join a database and a folder. */
const adopt = 'adopt';
/** Number of the newest files that are looked up if nothing else shows that folder and database belong together. */
const sampled = 1000;
const concurrency = 50;

/**
 * Verifies at start-up that database and blobs belong to one installation: both carry its id. With another database, every
 * blob would look unused. A new side without an id gets one if the contents match.
 * @throws StoreError `mismatch` from `start`
 */
export function createInstallation(deps: InstallationDeps): Service {
  const { store, blobs, clock, ids, log, folder } = deps;

  return {
    async start() {
      // The label is written last, so that an interrupted first start can be repeated.
      const label = await blobs.readLabel();
      const id = await store.installation.id();
      if (id !== undefined && label === id) return;
      if (label !== adopt) await requireFit(deps, id, label);
      const wanted = label === undefined || label === adopt ? ids.next('inst_') : label;
      const installation = await store.installation.claim(wanted, clock.now());
      if (label !== installation) await blobs.label(installation);
      log.info({ installation, folder }, 'The database and the files are marked as one installation.');
    },
    async stop() {},
  };
}

async function requireFit(
  { store, blobs, folder }: InstallationDeps,
  id: string | undefined,
  label: string | undefined,
): Promise<void> {
  if (id !== undefined && label !== undefined)
    throw mismatch(folder, `the database is of installation ${id}, the folder of ${label}`);
  const names = await store.files.newestBlobs(sampled);
  for (let at = 0; at < names.length; at += concurrency) {
    const sizes = await Promise.all(names.slice(at, at + concurrency).map((name) => blobs.size(name)));
    if (sizes.some((size) => size !== undefined)) return;
  }
  const empty = (await blobs.list()[Symbol.asyncIterator]().next()).done === true;
  if (label !== undefined)
    throw mismatch(folder, `the folder is of installation ${label}, the database is new or of another one`);
  if (!empty) throw mismatch(folder, 'the database has none of the files in the folder');
  if (names.length > 0)
    throw mismatch(
      folder,
      'the database lists files, but the folder has none: is its disk mounted, or the right bucket named?',
    );
}

function mismatch(folder: string, why: string): StoreError {
  return new StoreError(
    'mismatch',
    `The database and the files in ${folder} do not belong together: ${why}.`,
    `Start with a database and a data folder that belong together, or restore both from one backup. To join these two anyway, write the word ${adopt} into ${folder}/installation: files that the database does not list are then quarantined, and removed days later.`,
  );
}

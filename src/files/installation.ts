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
  /** Of the blobs, as an operator knows it. */
  folder: string;
}

/** What an operator writes in place of an id, to join a database and a folder that were not known to belong together. */
const adopt = 'adopt';
/** So many of the newest files are looked for when nothing else tells that folder and database belong together. */
const sampled = 1000;
const askedAtOnce = 50;

/**
 * Sees at the start that database and blobs are of one installation: both bear its id. With another database every blob
 * would look as if nobody needed it. What bears no id yet, because it is new or older than the ids, is given one where
 * its content agrees.
 * @throws StoreError `mismatch` from `start`
 */
export function createInstallation(deps: InstallationDeps): Service {
  const { store, blobs, clock, ids, log, folder } = deps;

  return {
    async start() {
      // In this order: whoever starts both for the first time writes the label last.
      const label = await blobs.readLabel();
      const id = await store.installation.id();
      if (id !== undefined && label === id) return;
      if (label !== adopt) await requireFit(deps, id, label);
      const wanted = label === undefined || label === adopt ? ids.next('inst_') : label;
      const installation = await store.installation.claim(wanted, clock.now());
      if (label !== installation) await blobs.label(installation);
      log.info({ installation, folder }, 'Database and files are marked as belonging together.');
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
  for (let at = 0; at < names.length; at += askedAtOnce) {
    const sizes = await Promise.all(names.slice(at, at + askedAtOnce).map((name) => blobs.size(name)));
    if (sizes.some((size) => size !== undefined)) return;
  }
  const empty = (await blobs.list()[Symbol.asyncIterator]().next()).done === true;
  if (label !== undefined)
    throw mismatch(folder, `the folder is of installation ${label}, the database is new or of another one`);
  if (!empty) throw mismatch(folder, 'the database knows none of the files in the folder');
  if (names.length > 0)
    throw mismatch(
      folder,
      'the database knows files, and there is none in the folder: is its disk mounted, or the right bucket named?',
    );
}

function mismatch(folder: string, found: string): StoreError {
  return new StoreError(
    'mismatch',
    `The database and the files in ${folder} do not belong together: ${found}.`,
    `Start with the database and the data folder that do, or restore both from one backup. To join these two all the same, write the word ${adopt} into ${folder}/installation: files that the database does not know are then set aside, and removed days later.`,
  );
}

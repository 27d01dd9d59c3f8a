import { systemClock, systemRandom } from '../base/system.ts';
import { join } from 'node:path';
import type { Blobs } from '../blobs/blobs.ts';
import { type BlobSum, type Moved, moveBlobs } from '../blobs/move.ts';
import { type Config, blobStoreName } from '../core/config.ts';
import { StoreError } from '../core/store-error.ts';
import type { FileSum } from '../store/contract/files.ts';
import { createLog, secretsOf } from './log.ts';
import { openStores } from './open-blobs.ts';

export interface MovedFiles extends Moved {
  from: string;
  to: string;
}

/** The part of the database that a move reads. */
interface FileRows {
  installation: string | undefined;
  sums(blobIds: string[]): Promise<FileSum[]>;
  close(): Promise<void>;
}

interface MoveFilesOptions {
  removes: boolean;
  signal: AbortSignal;
  onProgress: (moved: Moved) => void;
}

/**
 * Copies and verifies all files of `files.fallback` in `files.store`. Servers with this configuration may run meanwhile.
 * @throws StoreError or BlobError, as a start of the server
 */
export async function moveFiles(config: Config, options: MoveFilesOptions): Promise<MovedFiles> {
  const { data, files } = config;
  const { log, flush } = createLog(config.logLevel, secretsOf(config), systemClock);
  const deps = { clock: systemClock, random: systemRandom, log };
  const rows = config.database === 'sqlite' ? await openEmbedded(data) : await openPostgres(config, log);
  const [from, to] = [blobStoreName({ data, files: files.fallback! }), blobStoreName(config)];
  const { store: target, fallback: source } = await openStores(config, deps);
  try {
    await source!.start();
    await target.start();
    await labelTarget({ source: source!, target, from, to, installation: rows.installation });
    const sums = async (blobIds: string[]) =>
      new Map<string, BlobSum>((await rows.sums(blobIds)).map(({ blobId, ...sum }) => [blobId, sum]));
    return { from, to, ...(await moveBlobs({ source: source!, target, sums, ...options })) };
  } finally {
    await Promise.all([source!.stop(), target.stop(), rows.close()]);
    flush();
  }
}

/** Requires that both stores belong to the installation of the database; an empty target gets its label. */
async function labelTarget({
  source,
  target,
  from,
  to,
  installation,
}: Record<'source' | 'target', Blobs> &
  Record<'from' | 'to', string> & { installation: string | undefined }): Promise<void> {
  const requireLabel = (name: string, label: string | undefined) => {
    if (label !== installation || label === undefined)
      throw mismatch(name, label === undefined ? 'it has no label' : `it is of installation ${label}`);
  };
  requireLabel(from, await source.readLabel());
  const label = await target.readLabel();
  if (label !== undefined) return requireLabel(to, label);
  for await (const _ of target.list()) throw mismatch(to, 'it has files but no label');
  await target.label(installation!);
}

function mismatch(name: string, why: string): StoreError {
  return new StoreError(
    'mismatch',
    `The files in ${name} do not belong to this database: ${why}.`,
    'Name the data folder, the database and the bucket of one installation, or an empty bucket or folder as files.store.',
  );
}

async function openEmbedded(data: string): Promise<FileRows> {
  const [{ openReadOnly }, { readFileSums }, { readInstallation }] = await Promise.all([
    import('../store/sqlite/read-only.ts'),
    import('../store/sql/files.ts'),
    import('../store/sql/installation.ts'),
  ]);
  const queries = openReadOnly(join(data, 'offpeak.db'));
  return {
    installation: await readInstallation(queries),
    sums: (blobIds) => readFileSums(queries, blobIds),
    close: async () => queries.close(),
  };
}

async function openPostgres(
  { database, postgres }: Config,
  log: Parameters<typeof openStores>[1]['log'],
): Promise<FileRows> {
  const { createPostgresStore } = await import('../store/postgres/postgres.ts');
  const store = createPostgresStore({ url: database, ...postgres, clock: systemClock, log });
  await store.start();
  return {
    installation: await store.installation.id(),
    sums: (blobIds) => store.files.sums(blobIds),
    close: () => store.stop(),
  };
}

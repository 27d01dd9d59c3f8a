import type { Clock } from '../base/clock.ts';
import type { Log } from '../base/log.ts';
import type { Random } from '../base/random.ts';
import type { Blobs } from '../blobs/blobs.ts';
import { createDiskBlobs } from '../blobs/disk/disk.ts';
import { createBlobPair } from '../blobs/pair.ts';
import { cacheReads } from '../blobs/read-cache.ts';
import { type Config, blobStoreName } from '../core/config.ts';

interface BlobDeps {
  clock: Clock;
  random: Random;
  log: Log;
}

/** Store of the files of a configuration, and the one that they are moved from, not started. */
export async function openStores(
  { data, files }: Pick<Config, 'data' | 'files'>,
  deps: BlobDeps,
): Promise<{ store: Blobs; fallback: Blobs | undefined }> {
  const open = async ({ bucket }: { bucket?: NonNullable<Config['files']['bucket']> }): Promise<Blobs> => {
    if (!bucket) return createDiskBlobs({ folder: blobStoreName({ data, files: {} }), log: deps.log });
    const { createS3Blobs } = await import('../blobs/s3/s3.ts');
    return cacheReads(createS3Blobs({ ...deps, bucket }), {
      limitBytes: files.cacheBytes,
      clock: deps.clock,
    });
  };
  return { store: await open(files), fallback: files.fallback && (await open(files.fallback)) };
}

/** The stores as one. */
export async function openBlobs(config: Pick<Config, 'data' | 'files'>, deps: BlobDeps): Promise<Blobs> {
  const { store, fallback } = await openStores(config, deps);
  if (fallback === undefined) return store;
  return createBlobPair({ store, fallback, disk: config.files.bucket ? fallback : store });
}

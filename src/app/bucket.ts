import { silent } from '../base/log.ts';
import { systemClock, systemRandom } from '../base/system.ts';
import { BlobError } from '../core/blob-error.ts';
import type { BucketConfig } from '../core/config.ts';

/** What keeps a server from keeping files there; null where nothing does. */
export async function bucketFault(bucket: BucketConfig): Promise<string | null> {
  const { createS3Blobs } = await import('../blobs/s3/s3.ts');
  const blobs = createS3Blobs({ bucket, clock: systemClock, random: systemRandom, log: silent });
  try {
    await blobs.start();
    return null;
  } catch (error) {
    if (!(error instanceof Error)) return String(error);
    return error instanceof BlobError ? `${error.message} ${error.hint}` : error.message;
  } finally {
    await blobs.stop();
  }
}

import { silent } from '../base/log.ts';
import { systemClock, systemRandom } from '../base/system.ts';
import { BlobError } from '../core/blob-error.ts';
import type { BucketConfig } from '../core/config.ts';

/** A problem of a bucket. A server with an unusable bucket does not start; other problems are warnings. */
export interface BucketFault {
  message: string;
  isUsable: boolean;
}

/** Returns the problem that a server would report when it starts with this bucket, or null. */
export async function checkBucket(bucket: BucketConfig): Promise<BucketFault | null> {
  const { createS3Blobs } = await import('../blobs/s3/s3.ts');
  let fault: unknown = null;
  const log = { ...silent, warn: ({ err }: { err?: unknown }) => void (fault = err) };
  const blobs = createS3Blobs({ bucket, clock: systemClock, random: systemRandom, log });
  let isUsable = true;
  await blobs.start().catch((error: unknown) => {
    fault = error;
    isUsable = false;
  });
  await blobs.stop();
  if (!(fault instanceof Error)) return null;
  const message = fault instanceof BlobError ? `${fault.message} ${fault.hint}` : fault.message;
  return { message, isUsable };
}

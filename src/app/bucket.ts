import { silent } from '../base/log.ts';
import { systemClock, systemRandom } from '../base/system.ts';
import { BlobError } from '../core/blob-error.ts';
import type { BucketConfig } from '../core/config.ts';

/** What keeps a server from keeping files there, or what it would warn of at its start; null where nothing does. */
export async function bucketFault(bucket: BucketConfig): Promise<string | null> {
  const { createS3Blobs } = await import('../blobs/s3/s3.ts');
  let fault: unknown = null;
  const log = { ...silent, warn: ({ err }: { err?: unknown }) => void (fault = err) };
  const blobs = createS3Blobs({ bucket, clock: systemClock, random: systemRandom, log });
  await blobs.start().catch((error: unknown) => (fault = error));
  await blobs.stop();
  if (!(fault instanceof Error)) return null;
  return fault instanceof BlobError ? `${fault.message} ${fault.hint}` : fault.message;
}

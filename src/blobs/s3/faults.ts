import { BlobError } from '../../core/blob-error.ts';
import { ApiError } from '../../core/errors.ts';
import type { S3Problem, S3ProblemKind } from '../../s3/problems.ts';

const checkKeys = 'Check s3.access_key and s3.secret_key (AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY).';

const hints: Record<Exclude<S3ProblemKind, 'full' | 'region' | 'other'>, string> = {
  no_bucket: 'Create it, or correct the bucket in files or s3.endpoint.',
  not_s3:
    'Set s3.endpoint to the address of the S3 API, which often has another port than the console of the store.',
  clock: 'Synchronize the clock of this machine with NTP.',
  secret: checkKeys,
  key: checkKeys,
  denied:
    'Allow it to list the bucket and its multipart uploads, to get, put and delete objects, and to abort uploads.',
  unreachable: 'Check s3.endpoint, and that the store is running.',
  ranges: 'Use one that does.',
};

/** Error of the `Blobs` contract, with a hint for the operator. */
export function toBlobFault({ kind, message, region, status = 500, cause }: S3Problem): Error {
  if (kind === 'full') return new ApiError('insufficient_storage', message);
  return new BlobError('unavailable', message, hint(), cause === undefined ? undefined : { cause });

  function hint(): string {
    if (kind === 'region' && region === undefined)
      return 'Set s3.region to the region of the bucket, and s3.endpoint to the address of that region.';
    if (kind === 'region') return `Set s3.region to ${region}.`;
    if (kind !== 'other' && kind !== 'full') return hints[kind];
    return status >= 500 ? 'Its log may show the cause.' : 'Check files and s3 in the configuration.';
  }
}

import { truncate } from '../../base/truncate.ts';
import { BlobError } from '../../core/blob-error.ts';
import type { BucketConfig } from '../../core/config.ts';
import { ApiError } from '../../core/errors.ts';
import { findText } from './xml.ts';

/** Error response of the store. */
export interface Refusal {
  status: number;
  /** S3 error code, such as `NoSuchKey`; '' if the response has none. */
  code: string;
  headers: Partial<Record<string, string | string[]>>;
  xml: string;
}

/** True if a retry may succeed. */
export function isTransient({ status, code }: Refusal): boolean {
  return (
    [408, 429, 500, 502, 503, 504].includes(status) ||
    ['RequestTimeout', 'InternalError', 'SlowDown', 'OperationAborted'].includes(code)
  );
}

const checkKeys = 'Check s3.access_key and s3.secret_key (AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY).';

/** Maps an error response to an error of the `Blobs` contract, with a hint for the operator. */
export function toFault(refusal: Refusal, { host, bucket, region, accessKey }: BucketAccess): Error {
  const { status, code, headers, xml } = refusal;
  const unavailable = (message: string, hint: string) => new BlobError('unavailable', message, hint);
  if (status === 507 || /Quota|StorageFull|InsufficientStorage/.test(code))
    return new ApiError('insufficient_storage', `The bucket ${bucket} is full.`);
  if (code === 'NoSuchBucket')
    return unavailable(
      `There is no bucket ${bucket} at ${host}.`,
      'Create it, or correct the bucket in files or s3.endpoint.',
    );
  if (code === 'RequestTimeTooSkewed' || code === 'RequestExpired')
    return unavailable(
      `The clocks of this machine and of ${host} differ too much; its time is ${String(headers['date'])}.`,
      'Synchronize the clock of this machine with NTP.',
    );
  const rightRegion = headers['x-amz-bucket-region'] ?? findText(xml, 'Region');
  if (/^(Permanent|Temporary)?Redirect$|Region|AuthorizationHeaderMalformed/.test(code) || status === 301)
    return unavailable(
      `The bucket ${bucket} is not in the region ${region}.`,
      rightRegion === undefined
        ? 'Set s3.region to the region of the bucket, and s3.endpoint to the address of that region.'
        : `Set s3.region to ${String(rightRegion)}.`,
    );
  if (code === 'SignatureDoesNotMatch')
    return unavailable(
      `${host} rejected the signature: the secret of the key ${accessKey} is wrong.`,
      checkKeys,
    );
  if (/InvalidAccessKeyId|InvalidToken|ExpiredToken|UserNotFound/.test(code) || status === 401)
    return unavailable(`${host} rejected the key ${accessKey} (${code || status}).`, checkKeys);
  if (status === 403)
    return unavailable(
      `The key ${accessKey} lacks permissions for the bucket ${bucket} (${code || status}).`,
      'Allow it to list the bucket and its multipart uploads, to get, put and delete objects, and to abort uploads.',
    );
  const message = findText(xml, 'Message');
  return unavailable(
    `${host} answered ${status}${code && ` ${code}`}${message === undefined ? '.' : `: ${truncate(message, 200)}`}`,
    status >= 500 ? 'Its log may show the cause.' : 'Check files and s3 in the configuration.',
  );
}

export type BucketAccess = Pick<BucketConfig, 'bucket' | 'region' | 'accessKey'> & { host: string };

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

/** True if the store asks for a pause. */
export function isBusy({ status, code }: Refusal): boolean {
  return status === 429 || code === 'SlowDown' || code === 'ServiceUnavailable';
}

/** True if the store rejected the date of the signature. */
export function isTooSkewed({ code }: Refusal): boolean {
  return code === 'RequestTimeTooSkewed' || code === 'RequestExpired';
}

/** True if the key is unknown or no longer valid. */
export function isKeyRefused({ status, code }: Refusal): boolean {
  return (
    /InvalidAccessKeyId|InvalidToken|ExpiredToken|InvalidClientTokenId|UserNotFound/.test(code) ||
    status === 401
  );
}

/** Code of an answer that no S3 store gives. */
export const notS3 = 'NotS3';

/** True for a page for browsers, except that of a proxy in front of a store that is down. */
export function isPage({
  status,
  headers,
  body,
}: {
  status: number;
  headers: Refusal['headers'];
  body: Buffer;
}): boolean {
  const isHtml = String(headers['content-type']).startsWith('text/html');
  // Some stores label all they send as HTML.
  return isHtml && status < 500 && /^\s*<(!doctype html|html)/i.test(body.toString('latin1', 0, 200));
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
  if (code === notS3)
    return unavailable(
      `${host} is not an S3 store: it answered ${status} with a page for browsers.`,
      'Set s3.endpoint to the address of the S3 API, which often has another port than the console of the store.',
    );
  if (isTooSkewed(refusal))
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
  if (isKeyRefused(refusal))
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

export type BucketAccess = Pick<BucketConfig, 'bucket' | 'region'> & { host: string; accessKey: string };

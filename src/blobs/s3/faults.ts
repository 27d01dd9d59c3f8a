import { truncate } from '../../base/truncate.ts';
import { BlobError } from '../../core/blob-error.ts';
import type { BucketConfig } from '../../core/config.ts';
import { ApiError } from '../../core/errors.ts';
import { textOf } from './xml.ts';

/** An answer that is not what was asked for. */
export interface Refusal {
  status: number;
  /** The store's word for it, such as `NoSuchKey`; '' where it says none. */
  code: string;
  headers: Partial<Record<string, string | string[]>>;
  xml: string;
}

/** Whether the same request may succeed in a moment. */
export function isTransient({ status, code }: Refusal): boolean {
  return (
    [408, 429, 500, 502, 503, 504].includes(status) ||
    ['RequestTimeout', 'InternalError', 'SlowDown', 'OperationAborted'].includes(code)
  );
}

const keys = 'Look at s3.access_key and s3.secret_key (AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY).';

/** A refusal as the contract of blobs tells it, with what an operator can do. */
export function toFault(refusal: Refusal, { host, bucket, region, accessKey }: Place): Error {
  const { status, code, headers, xml } = refusal;
  const unavailable = (message: string, hint: string) => new BlobError('unavailable', message, hint);
  if (status === 507 || /Quota|StorageFull|InsufficientStorage/.test(code))
    return new ApiError('insufficient_storage', `The bucket ${bucket} is full: nothing more can be stored.`);
  if (code === 'NoSuchBucket')
    return unavailable(
      `There is no bucket ${bucket} at ${host}.`,
      'Create it, or correct files and s3.endpoint.',
    );
  if (code === 'RequestTimeTooSkewed' || code === 'RequestExpired')
    return unavailable(
      `The clocks of this machine and of ${host} are too far apart; it is ${String(headers['date'])} there.`,
      'Set this machine by NTP.',
    );
  const rightRegion = headers['x-amz-bucket-region'] ?? textOf(xml, 'Region');
  if (/^(Permanent|Temporary)?Redirect$|Region|AuthorizationHeaderMalformed/.test(code) || status === 301)
    return unavailable(
      `The bucket ${bucket} is not in the region ${region}.`,
      rightRegion === undefined
        ? 'Set s3.region to the one it is in, and s3.endpoint to the address of that.'
        : `Set s3.region to ${String(rightRegion)}.`,
    );
  if (code === 'SignatureDoesNotMatch')
    return unavailable(`${host} says that the secret of the key ${accessKey} is wrong.`, keys);
  if (/InvalidAccessKeyId|InvalidToken|ExpiredToken|UserNotFound/.test(code) || status === 401)
    return unavailable(`${host} does not take the key ${accessKey} (${code || status}).`, keys);
  if (status === 403)
    return unavailable(
      `The key ${accessKey} has too few rights in the bucket ${bucket} (${code || status}).`,
      'Let it list the bucket and its multipart uploads, and get, put and delete objects and abort uploads there.',
    );
  const said = textOf(xml, 'Message');
  return unavailable(
    `${host} answered ${status}${code && ` ${code}`}${said === undefined ? '.' : `: ${truncate(said, 200)}`}`,
    status >= 500 ? 'Look for the cause in its log.' : 'Look at files and s3 in the configuration.',
  );
}

export type Place = Pick<BucketConfig, 'bucket' | 'region' | 'accessKey'> & { host: string };

import { truncate } from '../base/truncate.ts';
import type { BucketConfig } from '../core/config.ts';
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
function isTooSkewed({ code }: Refusal): boolean {
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

/** Kind of a failure, by which the caller chooses an error and a hint. */
export type S3ProblemKind =
  | 'full'
  | 'no_bucket'
  | 'not_s3'
  | 'clock'
  | 'region'
  | 'secret'
  | 'key'
  | 'denied'
  | 'unreachable'
  | 'ranges'
  | 'other';

/** Failure of a request. */
export interface S3Problem {
  kind: S3ProblemKind;
  /** A sentence. */
  message: string;
  /** Region of the bucket, if the store names it. */
  region?: string;
  /** Status of an error response. */
  status?: number;
  cause?: unknown;
}

export type BucketAccess = Pick<BucketConfig, 'bucket' | 'region'> & { host: string; accessKey: string };

/** Explains an error response. */
export function explainRefusal(refusal: Refusal, access: BucketAccess): S3Problem {
  const { status, code, headers, xml } = refusal;
  const { host, bucket, region, accessKey } = access;
  const problem = (kind: S3ProblemKind, message: string): S3Problem => ({ kind, message, status });
  if (status === 507 || /Quota|StorageFull|InsufficientStorage/.test(code))
    return problem('full', `The bucket ${bucket} is full.`);
  if (code === 'NoSuchBucket') return problem('no_bucket', `There is no bucket ${bucket} at ${host}.`);
  if (code === notS3)
    return problem('not_s3', `${host} is not an S3 store: it answered ${status} with a page for browsers.`);
  if (isTooSkewed(refusal))
    return problem(
      'clock',
      `The clocks of this machine and of ${host} differ too much; its time is ${String(headers['date'])}.`,
    );
  if (/^(Permanent|Temporary)?Redirect$|Region|AuthorizationHeaderMalformed/.test(code) || status === 301) {
    const right = headers['x-amz-bucket-region'] ?? findText(xml, 'Region');
    const message = `The bucket ${bucket} is not in the region ${region}.`;
    return { ...problem('region', message), ...(right !== undefined && { region: String(right) }) };
  }
  if (code === 'SignatureDoesNotMatch')
    return problem('secret', `${host} rejected the signature: the secret of the key ${accessKey} is wrong.`);
  if (isKeyRefused(refusal))
    return problem('key', `${host} rejected the key ${accessKey} (${code || status}).`);
  const said = truncate(findText(xml, 'Message') ?? '', 200);
  // Some stores name an unknown key or a wrong secret only in this text.
  const reason = `${code || status}${said && `: ${said.replace(/\.$/, '')}`}`;
  if (status === 403)
    return problem('denied', `The key ${accessKey} lacks permissions for the bucket ${bucket} (${reason}).`);
  return problem('other', `${host} answered ${status}${code && ` ${code}`}${said ? `: ${said}` : '.'}`);
}

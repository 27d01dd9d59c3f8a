import type { Log } from '../base/log.ts';
import { networkReason } from '../base/network-reason.ts';
import { BlobError } from '../core/blob-error.ts';
import type { BucketKeys } from '../core/bucket-keys.ts';
import { type IssuedKeys, readKeys } from './key-sources.ts';

/** The keys of a bucket, valid at present. */
export interface Keys {
  /** @throws BlobError `unavailable` if there are none */
  current(): Promise<IssuedKeys>;
  /** Reads the keys again, because the store refused `used`. False if they do not renew. */
  replace(used: IssuedKeys): boolean;
}

export interface KeysOptions {
  keys: BucketKeys;
  /** Time of the store in epoch milliseconds. */
  now: () => number;
  log: Log;
  read?: typeof readKeys;
}

/** Keys are renewed this long before they expire, in the background. */
const renewBeforeMs = 300_000;
/** Keys without an expiry are read again after this time. */
const rereadMs = 300_000;
/** Pause after a renewal that failed while the keys are still valid. */
const pauseMs = 30_000;

export function createKeys({ keys: source, now, log, read = readKeys }: KeysOptions): Keys {
  let known: IssuedKeys | undefined;
  let renewAt = -Infinity;
  let reading: Promise<IssuedKeys> | undefined;

  const renew = (): Promise<IssuedKeys> =>
    (reading ??= read(source)
      .then((found) => {
        known = found;
        const lifeMs = found.expiresAt === undefined ? Infinity : found.expiresAt - now();
        renewAt = now() + (lifeMs === Infinity ? rereadMs : Math.max(lifeMs - renewBeforeMs, lifeMs / 2));
        return found;
      })
      .catch((cause: unknown) => {
        throw toFault(cause, source);
      })
      .finally(() => (reading = undefined)));

  const isValid = (keys: IssuedKeys | undefined): keys is IssuedKeys =>
    keys !== undefined && (keys.expiresAt === undefined || keys.expiresAt > now());

  return {
    async current() {
      if (source.kind === 'static') return (known ??= await read(source));
      if (isValid(known) && now() < renewAt) return known;
      if (!isValid(known)) return renew();
      renewAt = now() + pauseMs;
      renew().catch((error: unknown) =>
        log.warn({ err: error }, 'The keys of the bucket could not be renewed.'),
      );
      return known;
    },
    replace(used) {
      if (source.kind === 'static') return false;
      if (known === used) known = undefined;
      return true;
    },
  };
}

const hints: Record<BucketKeys['kind'], string> = {
  static: '',
  file: 'Check AWS_SHARED_CREDENTIALS_FILE and AWS_PROFILE.',
  web_identity: 'Check AWS_ROLE_ARN, AWS_WEB_IDENTITY_TOKEN_FILE and the trust policy of the role.',
  container: 'Check the identity of the pod or the role of the task.',
  instance: 'Give the instance a role, or set s3.access_key and s3.secret_key.',
};

function toFault(cause: unknown, source: BucketKeys): BlobError {
  const [url] = 'endpoint' in source ? [source.endpoint] : 'url' in source ? [source.url] : [undefined];
  const isNetwork = cause instanceof Error && 'code' in cause && url !== undefined && !('path' in cause);
  const reason = isNetwork
    ? networkReason(cause, new URL(url).host)
    : cause instanceof Error
      ? cause.message
      : String(cause);
  return new BlobError(
    'unavailable',
    `The keys of the bucket cannot be read: ${reason}.`,
    hints[source.kind],
    {
      cause,
    },
  );
}

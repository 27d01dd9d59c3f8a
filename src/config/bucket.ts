import type { Checker, SourceValue } from './source-value.ts';
import type { BucketConfig, Config } from '../core/config.ts';
import { bucketKeys } from './bucket-keys.ts';
import { omitUndefined } from './context.ts';
import { outside } from './environment.ts';
import { configKeys } from './keys.ts';

const bucketRule =
  'It has 3 to 63 lowercase letters, digits, - and ., and begins and ends with a letter or digit.';

/** Two input files of the default size. */
const defaultCacheBytes = 64 * 1024 * 1024;

type Fields = Partial<Record<(typeof configKeys.s3)[number], SourceValue>>;
type Env = Record<string, string | undefined>;

/** Stores for files: `store`, and `fallback` for one that they are moved from. One of the two is the disk. */
export function fileStores(
  { store, fallback }: Record<'store' | 'fallback', SourceValue | undefined>,
  s3: SourceValue | undefined,
  env: Env,
  check: Checker,
): Pick<Config['files'], 'bucket' | 'fallback' | 'cacheBytes'> {
  const [name, other] = [check.text(store) ?? 'disk', check.text(fallback) ?? 'disk'];
  const isDisk = name === 'disk';
  if (fallback && isDisk === (other === 'disk'))
    check.fail(
      fallback,
      'must be the other kind of store',
      'One of store and fallback is disk, the other s3://bucket/prefix.',
    );
  const at = isDisk ? fallback : store;
  const url = isDisk ? other : name;
  if (at === undefined || url === 'disk') {
    if (s3) check.fail(s3, 'has no effect while files are stored on disk', 'Set files: s3://bucket/prefix.');
    return { cacheBytes: 0 };
  }
  const fields = check.object(s3, configKeys.s3);
  const cacheBytes = check.whole(fields.cache_bytes, { min: 0 }) ?? defaultCacheBytes;
  const found = bucket({ at, url }, fields, env, check);
  if (isDisk) return { fallback: omitUndefined({ bucket: found }), cacheBytes };
  return omitUndefined({ bucket: found, fallback: fallback && {}, cacheBytes });
}

/**
 * Bucket for files. The AWS variables apply too, but the file overrides them: they may be meant for another program.
 */
function bucket(
  { at: store, url }: { at: SourceValue; url: string },
  fields: Fields,
  env: Env,
  check: Checker,
): BucketConfig | undefined {
  const [, name = '', path = ''] = /^s3:\/\/([^/]+)((?:\/[\w.-]+)*)\/?$/i.exec(url) ?? [];
  if (name === '' || path.split('/').some((part) => /^\.+$/.test(part)))
    return check.fail(
      store,
      'must be disk or s3://bucket/prefix',
      'A prefix may contain letters, digits and . _ - /',
    );
  if (!/^(?!.*\.\.)(?!\d+(\.\d+){3}$)[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]$/.test(name))
    return check.fail(store, `${name} cannot be the name of a bucket`, bucketRule);
  const variable = (key: string) => outside(key, env[key]);
  const region =
    check.text(fields.region ?? variable('AWS_REGION') ?? variable('AWS_DEFAULT_REGION')) ?? 'us-east-1';
  const endpoint = fields.endpoint ?? variable('AWS_ENDPOINT_URL_S3') ?? variable('AWS_ENDPOINT_URL');
  const keys = bucketKeys(store, fields, { variable, region, isAws: endpoint === undefined }, check);
  if (keys === undefined) return undefined;
  return {
    bucket: name,
    prefix: path === '' ? '' : `${path.slice(1)}/`,
    endpoint: check.url(endpoint) ?? `https://s3.${region}.amazonaws.com`,
    region,
    pathStyle: check.flag(fields.path_style) ?? endpoint !== undefined,
    keys,
  };
}

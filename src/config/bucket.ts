import type { Checker, SourceValue } from './source-value.ts';
import type { BucketConfig } from '../core/config.ts';
import { bucketKeys } from './bucket-keys.ts';
import { outside } from './environment.ts';
import { configKeys } from './keys.ts';

const bucketRule =
  'It has 3 to 63 lowercase letters, digits, - and ., and begins and ends with a letter or digit.';

/**
 * Bucket for files; undefined for the disk. The AWS variables apply too, but the file overrides them: they may be meant for
 * another program.
 */
export function bucket(
  store: SourceValue | undefined,
  s3: SourceValue | undefined,
  env: Record<string, string | undefined>,
  check: Checker,
): BucketConfig | undefined {
  const fields = check.object(s3, configKeys.s3);
  const found = check.text(store);
  if (store === undefined || found === undefined || found === 'disk') {
    if (s3) check.fail(s3, 'has no effect while files are stored on disk', 'Set files: s3://bucket/prefix.');
    return undefined;
  }
  const [, name = '', path = ''] = /^s3:\/\/([^/]+)((?:\/[\w.-]+)*)\/?$/i.exec(found) ?? [];
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

import type { Checker, SourceValue } from './source-value.ts';
import type { BucketConfig } from '../core/config.ts';
import { outside } from './environment.ts';
import { configKeys } from './keys.ts';

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
  const [, name, path = ''] = /^s3:\/\/([a-z0-9][\w.-]+)((?:\/[\w.-]+)*)\/?$/i.exec(found) ?? [];
  if (name === undefined || path.split('/').some((part) => /^\.+$/.test(part)))
    return check.fail(
      store,
      'must be disk or s3://bucket/prefix',
      'A prefix may contain letters, digits and . _ - /',
    );
  const variable = (key: string) => outside(key, env[key]);
  const region =
    check.text(fields.region ?? variable('AWS_REGION') ?? variable('AWS_DEFAULT_REGION')) ?? 'us-east-1';
  const endpoint = fields.endpoint ?? variable('AWS_ENDPOINT_URL_S3') ?? variable('AWS_ENDPOINT_URL');
  const accessKey = check.text(fields.access_key ?? variable('AWS_ACCESS_KEY_ID'));
  const secretKey = check.text(fields.secret_key ?? variable('AWS_SECRET_ACCESS_KEY'));
  const session = fields.session_token ?? (fields.access_key ? undefined : variable('AWS_SESSION_TOKEN'));
  const hint = 'Set s3.access_key and s3.secret_key, or AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY.';
  if (accessKey === undefined || secretKey === undefined)
    return check.fail(store, 'needs credentials for the bucket', hint);
  return {
    bucket: name,
    prefix: path === '' ? '' : `${path.slice(1)}/`,
    endpoint: check.url(endpoint) ?? `https://s3.${region}.amazonaws.com`,
    region,
    pathStyle: check.flag(fields.path_style) ?? endpoint !== undefined,
    accessKey,
    secretKey,
    sessionToken: check.text(session),
  };
}

import { existsSync } from 'node:fs';
import { join } from 'node:path';
import type { BucketKeys } from '../core/bucket-keys.ts';
import type { Checker, SourceValue } from './source-value.ts';

interface Surroundings {
  /** Value of an environment variable. */
  variable: (name: string) => SourceValue | undefined;
  region: string;
  /** True if the store is that of AWS, where an instance may have a role. */
  isAws: boolean;
  exists?: (path: string) => boolean;
}

/** Address of the instance metadata, the same for every instance. */
const instanceEndpoint = 'http://169.254.169.254';
/** Address to which ECS adds `AWS_CONTAINER_CREDENTIALS_RELATIVE_URI`. */
const taskEndpoint = 'http://169.254.170.2';

/** Origin of the keys for the bucket `store`: the file, then the environment in the order of the AWS tools. */
export function bucketKeys(
  store: SourceValue,
  fields: Partial<Record<'access_key' | 'secret_key' | 'session_token', SourceValue>>,
  { variable, region, isAws, exists = existsSync }: Surroundings,
  check: Checker,
): BucketKeys | undefined {
  const read = (name: string) => check.text(variable(name));
  const accessKey = check.text(fields.access_key) ?? read('AWS_ACCESS_KEY_ID');
  const secretKey = check.text(fields.secret_key) ?? read('AWS_SECRET_ACCESS_KEY');
  const session = fields.session_token ?? (fields.access_key ? undefined : variable('AWS_SESSION_TOKEN'));
  if (accessKey !== undefined && secretKey !== undefined)
    return { kind: 'static', accessKey, secretKey, sessionToken: check.text(session) };
  const hint = 'Set s3.access_key and s3.secret_key, or AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY.';
  const isIncomplete = accessKey !== undefined || secretKey !== undefined;

  const [roleArn, tokenFile] = [read('AWS_ROLE_ARN'), read('AWS_WEB_IDENTITY_TOKEN_FILE')];
  if (!isIncomplete && roleArn !== undefined && tokenFile !== undefined) {
    const sessionName = read('AWS_ROLE_SESSION_NAME') ?? 'offpeak';
    const endpoint = check.url(variable('AWS_ENDPOINT_URL_STS')) ?? `https://sts.${region}.amazonaws.com`;
    return { kind: 'web_identity', roleArn, tokenFile, sessionName, endpoint };
  }

  const named = read('AWS_SHARED_CREDENTIALS_FILE');
  const profile = read('AWS_PROFILE');
  const home = read('HOME');
  const path = named ?? (home && join(home, '.aws', 'credentials'));
  const isMeant = named !== undefined || profile !== undefined;
  if (!isIncomplete && path !== undefined && (isMeant || exists(path)))
    return { kind: 'file', path, profile: profile ?? 'default' };

  const full = check.url(variable('AWS_CONTAINER_CREDENTIALS_FULL_URI'));
  const relative = read('AWS_CONTAINER_CREDENTIALS_RELATIVE_URI');
  const url = full ?? (relative === undefined ? undefined : `${taskEndpoint}${relative}`);
  if (!isIncomplete && url !== undefined)
    return {
      kind: 'container',
      url,
      token: read('AWS_CONTAINER_AUTHORIZATION_TOKEN'),
      tokenFile: read('AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE'),
    };

  if (isIncomplete || !isAws || read('AWS_EC2_METADATA_DISABLED') === 'true')
    return check.fail(store, 'needs credentials for the bucket', hint);
  return {
    kind: 'instance',
    endpoint: check.url(variable('AWS_EC2_METADATA_SERVICE_ENDPOINT')) ?? instanceEndpoint,
  };
}

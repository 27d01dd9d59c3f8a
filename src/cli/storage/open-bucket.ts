import { silent } from '../../base/log.ts';
import type { BucketConfig } from '../../core/config.ts';
import type { S3Client } from '../../s3/client.ts';
import type { S3Problem, S3ProblemKind } from '../../s3/problems.ts';
import type { Cli } from '../shared/cli.ts';
import { CliError } from '../shared/exit-codes.ts';
import type { AwsProfile } from '../../s3/profiles.ts';
import { profileName, readAwsProfile } from './aws-profile.ts';

/** Parts of the environment of a command that objects need. */
export type ObjectDeps = Pick<Cli, 'env' | 'clock' | 'random' | 'ownsProcess'>;

/** Opens a bucket with the credentials of the environment or of an AWS profile. @throws CliError without any */
export async function openBucket({ env, clock, random }: ObjectDeps, bucket: string): Promise<S3Client> {
  const config = bucketConfig(env, bucket);
  // Its HTTP client takes a while to load, which commands without objects do not pay.
  const { createS3Client } = await import('../../s3/client.ts');
  return createS3Client({ bucket: config, clock, random, log: silent, toError });
}

/** Settings of a bucket by the rules of the AWS programs: variables take precedence over the profile. */
function bucketConfig(env: Cli['env'], bucket: string): BucketConfig {
  const hasKeys = Boolean(env.AWS_ACCESS_KEY_ID && env.AWS_SECRET_ACCESS_KEY);
  const profile = readAwsProfile(env);
  const [accessKey, secretKey, sessionToken] = hasKeys
    ? [env.AWS_ACCESS_KEY_ID, env.AWS_SECRET_ACCESS_KEY, env.AWS_SESSION_TOKEN]
    : [profile.aws_access_key_id, profile.aws_secret_access_key, profile.aws_session_token];
  if (!accessKey || !secretKey) throw noCredentials(env, bucket, profile);
  const region = env.AWS_REGION || env.AWS_DEFAULT_REGION || profile.region || 'us-east-1';
  const endpoint = env.AWS_ENDPOINT_URL_S3 || env.AWS_ENDPOINT_URL || profile.endpoint_url;
  if (endpoint !== undefined && !/^https?:\/\/[^/]/.test(endpoint))
    throw new CliError(
      `The endpoint of the object store, '${endpoint}', is not an http:// or https:// URL.`,
      'Correct AWS_ENDPOINT_URL.',
    );
  return {
    bucket,
    prefix: '',
    endpoint: endpoint || `https://s3.${region}.amazonaws.com`,
    region,
    // No certificate fits the host name of a bucket with a dot.
    pathStyle: Boolean(endpoint) || bucket.includes('.'),
    keys: { kind: 'static', accessKey, secretKey, sessionToken: sessionToken || undefined },
  };
}

function noCredentials(env: Cli['env'], bucket: string, profile: AwsProfile): CliError {
  const name = profileName(env);
  const hasLogin = ['sso_session', 'sso_start_url', 'role_arn', 'credential_process'].some(
    (setting) => profile[setting] !== undefined,
  );
  if (hasLogin)
    return new CliError(
      `The AWS profile ${name} has no access key for s3://${bucket}.`,
      `To get a temporary one: eval "$(aws configure export-credentials --profile ${name} --format env)"`,
    );
  return new CliError(
    `There are no credentials for s3://${bucket}.`,
    'Set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or AWS_PROFILE to a profile with an access key.',
  );
}

const checkKeys = 'Check AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY and AWS_SESSION_TOKEN, or the AWS profile.';

const hints: Record<Exclude<S3ProblemKind, 'region'>, string | undefined> = {
  full: 'Free some space, and run the command again.',
  no_bucket: 'Create it, or correct the URL. AWS_ENDPOINT_URL names a store other than that of AWS.',
  not_s3:
    'Set AWS_ENDPOINT_URL to the address of the S3 API, which often has another port than the console of the store.',
  clock: 'Synchronize the clock of this machine with NTP.',
  secret: checkKeys,
  key: checkKeys,
  denied:
    'Allow s3:GetObject for inputs, s3:PutObject and s3:AbortMultipartUpload for outputs, and s3:ListBucket, without which a missing object looks forbidden.',
  unreachable: 'Check AWS_ENDPOINT_URL and AWS_REGION, and that the store is running.',
  ranges: 'Copy the object to this machine first.',
  other: undefined,
};

function toError({ kind, message, region }: S3Problem): CliError {
  if (kind !== 'region') return new CliError(message, hints[kind]);
  return new CliError(message, `Set AWS_REGION to ${region ?? 'the region of the bucket'}.`);
}

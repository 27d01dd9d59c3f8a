import { readFile } from 'node:fs/promises';
import { request } from 'undici';
import type { BucketKeys } from '../core/bucket-keys.ts';
import { readProfiles } from './profiles.ts';
import { findText } from './xml.ts';

/** Keys as an origin gave them. */
export interface IssuedKeys {
  accessKeyId: string;
  secretAccessKey: string;
  sessionToken: string | undefined;
  /** Epoch milliseconds of the issuer; absent for keys that it may exchange at any time. */
  expiresAt: number | undefined;
}

/** The local endpoints answer at once, or do not exist. */
const timeoutMs = 5_000;
const instanceTokenSeconds = '21600';

/** Reads keys from their origin. @throws Error with a reason for the operator */
export async function readKeys(keys: BucketKeys): Promise<IssuedKeys> {
  switch (keys.kind) {
    case 'static':
      return issued(keys.accessKey, keys.secretKey, keys.sessionToken);
    case 'file':
      return fromFile(await readFile(keys.path, 'utf8'), keys);
    case 'web_identity':
      return fromToken(keys);
    case 'container': {
      const token =
        keys.tokenFile === undefined ? keys.token : (await readFile(keys.tokenFile, 'utf8')).trim();
      return fromJson(await ask(keys.url, token === undefined ? {} : { authorization: token }));
    }
    case 'instance':
      return fromInstance(keys.endpoint);
  }
}

/** Keys of one profile of a file. */
function fromFile(text: string, { path, profile }: { path: string; profile: string }): IssuedKeys {
  const profiles = readProfiles(text);
  const found = { ...profiles.get(`profile ${profile}`), ...profiles.get(profile) };
  const { aws_access_key_id: id, aws_secret_access_key: secret, aws_session_token: token } = found;
  if (!id || !secret)
    throw new Error(`the profile ${profile} in ${path} has no aws_access_key_id and aws_secret_access_key`);
  return issued(id, secret, token);
}

async function fromToken(keys: BucketKeys & { kind: 'web_identity' }): Promise<IssuedKeys> {
  const body = new URLSearchParams({
    Action: 'AssumeRoleWithWebIdentity',
    Version: '2011-06-15',
    RoleArn: keys.roleArn,
    RoleSessionName: keys.sessionName,
    WebIdentityToken: (await readFile(keys.tokenFile, 'utf8')).trim(),
  });
  const headers = { 'content-type': 'application/x-www-form-urlencoded' };
  const xml = await ask(keys.endpoint, headers, 'POST', body.toString());
  const [id, secret, token, end] = ['AccessKeyId', 'SecretAccessKey', 'SessionToken', 'Expiration'].map(
    (name) => findText(xml, name),
  );
  if (id === undefined || secret === undefined) throw new Error(`${keys.endpoint} answered without keys`);
  return issued(id, secret, token, end);
}

async function fromInstance(endpoint: string): Promise<IssuedKeys> {
  const ttl = { 'x-aws-ec2-metadata-token-ttl-seconds': instanceTokenSeconds };
  const token = { 'x-aws-ec2-metadata-token': await ask(`${endpoint}/latest/api/token`, ttl, 'PUT') };
  const roles = `${endpoint}/latest/meta-data/iam/security-credentials/`;
  const [role = ''] = (await ask(roles, token)).split('\n');
  return fromJson(await ask(roles + role.trim(), token));
}

function fromJson(text: string): IssuedKeys {
  const found = JSON.parse(text) as Partial<Record<string, string>>;
  const { AccessKeyId: id, SecretAccessKey: secret, Token: token, Expiration: end } = found;
  if (id === undefined || secret === undefined)
    throw new Error(`the answer has no keys (${found['Message'] ?? found['Code'] ?? 'no reason'})`);
  return issued(id, secret, token, end);
}

function issued(id: string, secret: string, token?: string, end?: string): IssuedKeys {
  const expiresAt = end === undefined ? Number.NaN : Date.parse(end);
  return {
    accessKeyId: id,
    secretAccessKey: secret,
    sessionToken: token === '' ? undefined : token,
    expiresAt: Number.isNaN(expiresAt) ? undefined : expiresAt,
  };
}

async function ask(
  url: string,
  headers: Record<string, string>,
  method: 'GET' | 'PUT' | 'POST' = 'GET',
  body: string | null = null,
): Promise<string> {
  const limits = { headersTimeout: timeoutMs, bodyTimeout: timeoutMs };
  const answer = await request(url, { method, headers, body, ...limits });
  const text = await answer.body.text();
  if (answer.statusCode === 200) return text;
  const why = findText(text, 'Message') ?? findText(text, 'Code');
  throw new Error(`${new URL(url).host} answered ${answer.statusCode}${why === undefined ? '' : `: ${why}`}`);
}

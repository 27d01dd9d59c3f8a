import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { type AwsProfile, readProfiles } from '../../s3/profiles.ts';

type Env = Record<string, string | undefined>;

/** Profile that AWS_PROFILE names, or `default`, in the files that `aws configure` writes; empty if neither file has it. */
export function readAwsProfile(env: Env): AwsProfile {
  const name = profileName(env);
  const home = env.HOME || env.USERPROFILE;
  const pathOf = (variable: string | undefined, file: string) =>
    variable || (home ? join(home, '.aws', file) : undefined);
  const credentials = readProfiles(readText(pathOf(env.AWS_SHARED_CREDENTIALS_FILE, 'credentials')));
  const config = readProfiles(readText(pathOf(env.AWS_CONFIG_FILE, 'config')));
  return { ...config.get(name === 'default' ? name : `profile ${name}`), ...credentials.get(name) };
}

export function profileName(env: Env): string {
  return env.AWS_PROFILE || 'default';
}

function readText(path: string | undefined): string {
  if (path === undefined) return '';
  try {
    return readFileSync(path, 'utf8');
  } catch {
    return '';
  }
}

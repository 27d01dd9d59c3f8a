import { existsSync, mkdirSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { CliError } from './exit-codes.ts';
import { readJsonFile } from './json-file.ts';

/** Server and key that `login` saved. Flags and the environment take precedence. */
export interface Profile {
  url: string;
  key: string;
}

type Env = Record<string, string | undefined>;

/** Path of the profile; undefined for a user without a home. */
export function profilePath(env: Env): string | undefined {
  const folder = env.XDG_CONFIG_HOME || (env.HOME && join(env.HOME, '.config')) || env.APPDATA;
  return folder ? join(folder, 'offpeak', 'profile.json') : undefined;
}

export function readProfile(env: Env): Profile | undefined {
  const path = profilePath(env);
  if (path === undefined) return undefined;
  const isValid = ({ url, key }: Partial<Profile>) => typeof url === 'string' && typeof key === 'string';
  return readJsonFile(path, isValid, 'a profile of offpeak login', 'Remove it, or log in again.');
}

/** Writes the profile, readable only by this user, and returns its path. */
export function writeProfile(env: Env, profile: Profile): string {
  const path = profilePath(env);
  if (path === undefined)
    throw new CliError(
      'The profile cannot be saved: HOME is not set.',
      'Set OFFPEAK_URL and OFFPEAK_API_KEY instead.',
    );
  mkdirSync(dirname(path), { recursive: true, mode: 0o700 });
  writeFileSync(`${path}.tmp`, `${JSON.stringify(profile, null, 2)}\n`, { mode: 0o600 });
  renameSync(`${path}.tmp`, path);
  return path;
}

/** Removes the profile. Returns false without one. */
export function removeProfile(env: Env): boolean {
  const path = profilePath(env);
  if (path === undefined || !existsSync(path)) return false;
  rmSync(path);
  return true;
}

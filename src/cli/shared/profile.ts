import { existsSync, mkdirSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { CliError } from './exit-codes.ts';
import { readJsonFile } from './json-file.ts';

/** Which server the client commands ask, and with which key, where neither a flag nor the environment says so. */
export interface Profile {
  url: string;
  key: string;
}

type Env = Record<string, string | undefined>;

/** Undefined where the user has no home. */
export function profilePath(env: Env): string | undefined {
  const folder = env.XDG_CONFIG_HOME || (env.HOME && join(env.HOME, '.config')) || env.APPDATA;
  return folder ? join(folder, 'offpeak', 'profile.json') : undefined;
}

export function readProfile(env: Env): Profile | undefined {
  const path = profilePath(env);
  if (path === undefined) return undefined;
  const isOurs = ({ url, key }: Partial<Profile>) => typeof url === 'string' && typeof key === 'string';
  return readJsonFile(path, isOurs, 'a profile of offpeak login', 'Remove it, or log in again.');
}

/** @returns where it stands, readable by this user alone */
export function writeProfile(env: Env, profile: Profile): string {
  const path = profilePath(env);
  if (path === undefined)
    throw new CliError(
      'There is no folder for a profile: HOME is not set.',
      'Use OFFPEAK_URL and OFFPEAK_API_KEY.',
    );
  mkdirSync(dirname(path), { recursive: true, mode: 0o700 });
  writeFileSync(`${path}.tmp`, `${JSON.stringify(profile, null, 2)}\n`, { mode: 0o600 });
  renameSync(`${path}.tmp`, path);
  return path;
}

/** @returns whether there was one */
export function removeProfile(env: Env): boolean {
  const path = profilePath(env);
  if (path === undefined || !existsSync(path)) return false;
  rmSync(path);
  return true;
}

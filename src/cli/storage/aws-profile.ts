import { readFileSync } from 'node:fs';
import { join } from 'node:path';

type Env = Record<string, string | undefined>;

/** Settings of a profile, such as `aws_access_key_id`. */
export type AwsProfile = Partial<Record<string, string>>;

/** Profile that AWS_PROFILE names, or `default`, in the files that `aws configure` writes; empty if neither file has it. */
export function readAwsProfile(env: Env): AwsProfile {
  const name = profileName(env);
  const home = env.HOME || env.USERPROFILE;
  const pathOf = (variable: string | undefined, file: string) =>
    variable || (home ? join(home, '.aws', file) : undefined);
  const credentials = readSections(pathOf(env.AWS_SHARED_CREDENTIALS_FILE, 'credentials'));
  const config = readSections(pathOf(env.AWS_CONFIG_FILE, 'config'));
  return { ...config.get(name === 'default' ? name : `profile ${name}`), ...credentials.get(name) };
}

export function profileName(env: Env): string {
  return env.AWS_PROFILE || 'default';
}

/** Sections of an INI file by name. Indented lines, which belong to settings of one service, are ignored. */
function readSections(path: string | undefined): Map<string, AwsProfile> {
  const sections = new Map<string, AwsProfile>();
  let current: AwsProfile = {};
  for (const line of readText(path).split(/\r?\n/)) {
    const [, name] = /^\[\s*(.+?)\s*\]/.exec(line) ?? [];
    if (name !== undefined) {
      current = sections.get(name) ?? {};
      sections.set(name, current);
      continue;
    }
    const [, key, value] = /^([\w-]+)\s*=\s*(.*?)\s*$/.exec(line) ?? [];
    if (key !== undefined && value) current[key] = value;
  }
  return sections;
}

function readText(path: string | undefined): string {
  if (path === undefined) return '';
  try {
    return readFileSync(path, 'utf8');
  } catch {
    return '';
  }
}

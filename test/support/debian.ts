import { spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';

/** Finds a program. If it is missing, installs the Debian package of that name where this process has the rights to. */
export function findOrInstall(name: string, find: () => string | undefined): string | undefined {
  const found = find();
  if (found !== undefined || process.getuid?.() !== 0 || !existsSync('/etc/debian_version')) return found;
  console.warn(`Installing ${name} for the tests ...`);
  const apt = (...args: string[]) =>
    spawnSync('apt-get', ['-qq', '-y', ...args], {
      stdio: 'ignore',
      env: { ...process.env, DEBIAN_FRONTEND: 'noninteractive' },
    });
  apt('update');
  apt('install', '--no-install-recommends', name);
  return find();
}

export interface User {
  uid?: number;
  gid?: number;
}

/** Returns the user for servers that refuse to run as root: the user of this process, or `postgres`. */
export function unprivileged(): User | undefined {
  if (process.getuid?.() !== 0) return {};
  const id = (flag: string) =>
    Number(spawnSync('id', [flag, 'postgres'], { encoding: 'utf8' }).stdout.trim() || Number.NaN);
  const uid = id('-u');
  return Number.isNaN(uid) ? undefined : { uid, gid: id('-g') };
}

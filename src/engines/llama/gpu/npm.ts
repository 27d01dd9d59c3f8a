import { execFile } from 'node:child_process';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { isObject, parseOrUndefined } from '../../../base/fields.ts';
import { isMissingFile } from '../../../base/missing-file.ts';
import { words } from '../../../base/words.ts';

/** Installs packages or package files below `folder`. Returns the hash of each package, by name. */
export type InstallPackages = (
  folder: string,
  packages: readonly string[],
  options: { isOffline: boolean; signal: AbortSignal },
) => Promise<Record<string, string>>;

const maxOutputBytes = 1024 * 1024;

/**
 * Runs npm, which knows the registry, proxies and keys of this machine (`.npmrc`), verifies what it fetches by the hashes of
 * the registry, and unpacks it.
 * @param env environment of npm
 * @throws Error with the output of npm
 */
export function npmInstaller(env: Record<string, string | undefined>): InstallPackages {
  return async (folder, packages, { isOffline, signal }) => {
    const args = [
      ...words('install --no-save --ignore-scripts --no-audit --no-fund --no-update-notifier --no-progress'),
      ...words(isOffline ? '--loglevel=error --offline' : '--loglevel=error'),
      '--prefix',
      folder,
      ...packages,
    ];
    await runNpm(args, { cwd: folder, env, signal });
    return installedHashes(folder);
  };
}

function runNpm(
  args: readonly string[],
  { cwd, env, signal }: { cwd: string; env: Record<string, string | undefined>; signal: AbortSignal },
): Promise<void> {
  // On Windows, npm is a script of the shell.
  const shell = process.platform === 'win32';
  const quoted = shell ? args.map((arg) => `"${arg}"`) : [...args];
  return new Promise((resolve, reject) => {
    execFile(
      'npm',
      quoted,
      { cwd, env, signal, shell, maxBuffer: maxOutputBytes },
      (error, _output, errors) => {
        if (!error) return resolve();
        if (signal.aborted) return reject(signal.reason as Error);
        reject(
          new Error(
            isMissingFile(error) ? 'there is no npm on the PATH' : shortened(errors) || error.message,
          ),
        );
      },
    );
  });
}

/** The reason among npm's lines of output. */
function shortened(errors: string): string {
  const lines = errors.split('\n').map((line) => line.replace(/^npm (?:error|ERR!)\s*/, '').trim());
  return (
    lines.find((line) => line !== '' && !/^(?:code|syscall|errno|path|A complete log)\b/.test(line)) ?? ''
  );
}

/** Hashes in the lock file that npm writes next to the packages. */
async function installedHashes(folder: string): Promise<Record<string, string>> {
  const lock = parseOrUndefined(await readFile(join(folder, 'node_modules', '.package-lock.json'), 'utf8'));
  const packages = isObject(lock) && isObject(lock.packages) ? lock.packages : {};
  return Object.fromEntries(
    Object.entries(packages).flatMap(([path, entry]) =>
      isObject(entry) && typeof entry.integrity === 'string'
        ? [[path.replace(/^node_modules\//, ''), entry.integrity]]
        : [],
    ),
  );
}

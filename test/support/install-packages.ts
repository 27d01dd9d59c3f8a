import { execFile } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync } from 'node:fs';
import { mkdir, rename, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';

/** Folder with the packages, or the reason why they cannot be installed here. */
export type Installed = { folder: string } | { missing: string };

const exec = promisify(execFile);
const run = (command: string, args: string[], timeout = 120_000, cwd?: string) =>
  exec(command, args, { timeout, killSignal: 'SIGKILL', ...(cwd && { cwd }) });

/** Fails soon on a machine without a network. */
const impatient = ['--timeout', '10', '--retries', '0'];
const pip = ['-m', 'pip', 'install', '--quiet', '--no-input', '--disable-pip-version-check', ...impatient];

/** Path of Python in a folder that `installPython` made. */
export const pythonIn = (folder: string): string => join(folder, 'bin', 'python');

/**
 * Creates a virtual environment with these requirements.
 * @param before latest upload date of dependencies that the requirements do not pin
 */
export async function installPython(
  cache: string,
  requirements: string[],
  before?: string,
): Promise<Installed> {
  let version: string;
  try {
    version = (await run('python3', ['--version'])).stdout.trim();
  } catch {
    return { missing: 'there is no python3' };
  }
  return installOnce(cache, [version, ...requirements, before], async (folder) => {
    await run('python3', ['-m', 'venv', folder]);
    const until = before ? [`--uploaded-prior-to=${before}T00:00:00Z`] : [];
    // Older versions of pip do not support upload dates.
    if (before) await run(pythonIn(folder), [...pip, 'pip>=26']);
    // Resolving dependencies by date takes longer.
    const limitMs = before ? 300_000 : 120_000;
    await run(pythonIn(folder), [...pip, '--only-binary', ':all:', ...until, ...requirements], limitMs);
  });
}

/** Installs these packages, given by name and exact version, and returns the folder. */
export async function installNode(
  cache: string,
  packages: Record<string, string>,
  before: string,
): Promise<Installed> {
  const manifest = JSON.stringify({ private: true, type: 'module', dependencies: packages });
  return installOnce(cache, [manifest, before], async (folder) => {
    await mkdir(folder);
    await writeFile(join(folder, 'package.json'), manifest);
    const quiet = ['--silent', '--no-package-lock', '--no-audit', '--no-fund', '--fetch-retries=0'];
    await run('npm', ['install', ...quiet, `--before=${before}`], 300_000, folder);
  });
}

/** Makes a folder once: as a draft beside its place, then renamed, so that no run finds an incomplete one. */
export async function installOnce(
  cache: string,
  key: unknown[],
  make: (draft: string) => Promise<void>,
): Promise<Installed> {
  const hash = createHash('sha256').update(JSON.stringify(key)).digest('hex');
  const folder = join(cache, hash.slice(0, 16));
  if (existsSync(folder)) return { folder };
  const draft = `${folder}.${process.pid}`;
  try {
    await mkdir(cache, { recursive: true });
    await make(draft);
    await rename(draft, folder).catch(() => {});
    return { folder };
  } catch (error) {
    return { missing: `the packages cannot be had: ${lastWords(error)}` };
  } finally {
    await rm(draft, { recursive: true, force: true });
  }
}

function lastWords(error: unknown): string {
  const { stderr = '', stdout = '', message = '' } = error as Record<string, string>;
  const lines = `${message}\n${stdout}\n${stderr}`.split('\n').filter((line) => line.trim() !== '');
  return lines.at(-1)?.trim() ?? 'no reason was given';
}

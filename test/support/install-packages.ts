import { execFile } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync } from 'node:fs';
import { mkdir, rename, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';

/** A folder that has the packages, or the reason why they cannot be had on this machine. */
export type Installed = { folder: string } | { missing: string };

const exec = promisify(execFile);
const run = (command: string, args: string[], timeout = 120_000, cwd?: string) =>
  exec(command, args, { timeout, killSignal: 'SIGKILL', ...(cwd && { cwd }) });

/** So that a machine without a network is soon known to have none. */
const impatient = ['--timeout', '10', '--retries', '0'];
const pip = ['-m', 'pip', 'install', '--quiet', '--no-input', '--disable-pip-version-check', ...impatient];

/** The Python of a folder that `installPython` made. */
export const pythonIn = (folder: string): string => join(folder, 'bin', 'python');

/**
 * A virtual environment with these requirements.
 * @param before no package of a later day is taken for what the requirements do not name
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
    // Older ones do not know the day of a package.
    if (before) await run(pythonIn(folder), [...pip, 'pip>=26']);
    // What else is needed is first looked for.
    const limitMs = before ? 300_000 : 120_000;
    await run(pythonIn(folder), [...pip, '--only-binary', ':all:', ...until, ...requirements], limitMs);
  });
}

/** A folder with these packages in `node_modules`, by name and exact version. */
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

/** Makes a folder once, beside its place, and moves it there whole: a second run never finds half of one. */
async function installOnce(
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

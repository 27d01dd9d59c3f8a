import { execFile } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, readFileSync } from 'node:fs';
import { mkdir, rename, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';

/** A Python that has the pinned clients, or the reason why none can be had on this machine. */
export type PythonEnvironment = { python: string } | { missing: string };

const run = promisify(execFile);
const requirements = fileURLToPath(new URL('requirements.txt', import.meta.url));
const cache = fileURLToPath(new URL('../../../node_modules/.cache/offpeak-python', import.meta.url));

/** So that a machine without a network is soon known to have none. */
const pip = ['-m', 'pip', 'install', '--quiet', '--no-input', '--disable-pip-version-check'];
const impatient = ['--timeout', '10', '--retries', '0', '--only-binary', ':all:'];

/**
 * Makes a virtual environment once and keeps it beside the installed packages. Nothing of Offpeak needs Python: where it
 * is missing, or its packages cannot be fetched, the tests that would use it are skipped.
 */
export async function findPython(): Promise<PythonEnvironment> {
  let version: string;
  try {
    version = (await run('python3', ['--version'], { timeout: 10_000 })).stdout;
  } catch {
    return { missing: 'there is no python3' };
  }
  const pinned = createHash('sha256').update(version).update(readFileSync(requirements));
  const folder = join(cache, pinned.digest('hex').slice(0, 16));
  const python = (of: string) => join(of, 'bin', 'python');
  if (existsSync(python(folder))) return { python: python(folder) };

  // Made beside its place and moved there whole: an interrupted or a second run never finds half of one.
  const draft = `${folder}.${process.pid}`;
  try {
    await mkdir(cache, { recursive: true });
    await run('python3', ['-m', 'venv', draft], { timeout: 60_000, killSignal: 'SIGKILL' });
    await run(python(draft), [...pip, ...impatient, '--requirement', requirements], {
      timeout: 120_000,
      killSignal: 'SIGKILL',
    });
    await rename(draft, folder).catch(() => {});
  } catch (error) {
    return { missing: `the packages of ${version.trim()} cannot be had: ${lastWords(error)}` };
  } finally {
    await rm(draft, { recursive: true, force: true });
  }
  return { python: python(folder) };
}

function lastWords(error: unknown): string {
  const { stderr = '', stdout = '', message = '' } = error as Record<string, string>;
  const lines = `${message}\n${stdout}\n${stderr}`.split('\n').filter((line) => line.trim() !== '');
  return lines.at(-1)?.trim() ?? 'no reason was given';
}

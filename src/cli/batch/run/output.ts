import { existsSync, rmSync, statSync } from 'node:fs';
import { dirname, resolve } from 'node:path';
import { type FileLock, isLockHeld, lockFile, lockOwner } from '../../../base/file-lock.ts';
import { makeFolder } from '../../../base/make-folder.ts';
import type { Cli } from '../../shared/cli.ts';
import { CliError } from '../../shared/exit-codes.ts';
import { showPath } from '../../shared/local-file.ts';
import { isObjectUrl, objectName, parseObjectUrl } from '../../storage/object-url.ts';
import { removeRunFolder, runFolderPath } from '../../storage/run-folder.ts';
import { checkWritable } from '../../storage/store-object.ts';

/** Path of the failed lines: `a/out.errors.jsonl` for `a/out.jsonl`. */
export function errorsPath(output: string): string {
  return `${output.replace(/\.jsonl$/, '')}.errors.jsonl`;
}

/** Destination of results. */
export interface Output {
  /** File on this machine. */
  path: string;
  /** Name for messages. */
  name: string;
  /** Object that the file becomes at the end of the run; null for a file that stays. */
  url: string | null;
  /** True if failed lines go to a file of their own. */
  hasErrors: boolean;
}

export interface OutputChoice {
  output?: string | undefined;
  format: string;
  /** True if failed lines go to a file of their own. */
  hasErrors: boolean;
  force?: boolean | undefined;
}

const knownEnding = /\.(?:jsonl|ndjson|csv|tsv|parquet)$/;

/**
 * Destination of the results, by default `a/in.output.jsonl` for `a/in.jsonl`; null for stdout. Creates the folder. Results for
 * an object are collected in a folder of their own on this machine.
 * @param source path or URL of the input; undefined for stdin
 * @throws CliError when the path is the input, not a file, or an existing file without `force`
 */
export async function resolveOutput(
  cli: Cli,
  source: string | undefined,
  { output: given, format, force, hasErrors }: OutputChoice,
): Promise<Output | null> {
  if (given === '-' || (given === undefined && source === undefined)) return null;
  const place = given ?? `${source!.replace(knownEnding, '')}.output.${format}`;
  const output = isObjectUrl(place) ? place : resolve(cli.cwd, place);
  const written = hasErrors ? [output, errorsPath(output)] : [output];
  if (source !== undefined && written.includes(source))
    throw new CliError('The results would overwrite the input.', 'Choose another file with -o.');
  if (isObjectUrl(output)) return resolveObject(cli, written, force === true);
  const taken = written.filter((path) => existsSync(path));
  // The results are renamed to the path at the end, which would replace a device.
  const odd = taken.find((path) => !statSync(path).isFile());
  if (odd !== undefined)
    throw new CliError(
      `${showPath(cli, odd)} is not a file.`,
      'Choose a file with -o, or pass -o - for stdout.',
    );
  if (taken[0] !== undefined && force !== true && !existsSync(`${output}.offpeak.json`))
    throw new CliError(
      `${showPath(cli, taken[0])} already exists.`,
      'Pass --force to overwrite it, or choose another output with -o.',
    );
  await makeFolder(dirname(output));
  return { path: output, name: showPath(cli, output), url: null, hasErrors };
}

async function resolveObject(cli: Cli, written: readonly string[], force: boolean): Promise<Output> {
  const [url, errors] = written as [string, string?];
  const path = await runFolderPath(cli, url, objectName(parseObjectUrl(url)));
  try {
    const canExist = force || existsSync(`${path}.offpeak.json`);
    for (const object of written) await checkWritable(cli, object, canExist);
  } catch (error) {
    removeRunFolder(path);
    throw error;
  }
  return { path, name: url, url, hasErrors: errors !== undefined };
}

/**
 * Locks an output file against other runs, with a lock file `<output>.offpeak.lock` that the operating system releases
 * when the process ends. Does nothing on a disk without file locks.
 * @returns a function that releases the lock, to be called once
 * @throws CliError when another run holds the lock
 */
export function lockOutput({ path: output, name, url }: Output): () => void {
  const path = `${output}.offpeak.lock`;
  let lock: FileLock | undefined;
  try {
    lock = lockFile(path, process.pid);
  } catch (error) {
    const owner = lockOwner(path);
    const who = owner === undefined ? 'Another run' : `Another run (process ${owner})`;
    if (isLockHeld(error))
      throw new CliError(
        `${who} is writing ${name}.`,
        'Wait until it ends, or choose another output with -o.',
      );
  }
  return () => {
    // Removed before the release: afterwards the file may belong to another run.
    rmSync(path, { force: true });
    lock?.release();
    if (url !== null) removeRunFolder(output);
  };
}

import { basename, join } from 'node:path';
import { tmpdir } from 'node:os';
import type { Cli } from '../shared/cli.ts';
import { CliError, exitCodes } from '../shared/exit-codes.ts';
import { existingFile } from '../shared/local-file.ts';
import { interruptible } from '../shared/signals.ts';
import { fetchObject, removeCopy } from './fetch-object.ts';
import { isObjectUrl, objectName, parseObjectUrl } from './object-url.ts';

/** Calls `use` with an input on this machine: the file, or a temporary copy of an object. */
export async function withLocalInput<T>(
  cli: Cli,
  input: string,
  use: (path: string, name: string) => Promise<T>,
): Promise<T> {
  if (!isObjectUrl(input)) {
    const path = existingFile(input, cli.cwd);
    return use(path, basename(path));
  }
  const copy = temporaryPath(cli);
  try {
    await fetchInput(cli, input, copy);
    return await use(copy, objectName(parseObjectUrl(input)));
  } finally {
    removeCopy(copy);
  }
}

/** Copies an object, until Ctrl-C. */
export function fetchInput(cli: Cli, url: string, path: string): Promise<void> {
  const stopped = new CliError('Stopped.', 'Nothing was sent.', exitCodes.interrupted);
  return interruptible(cli, stopped, (signal) => fetchObject(cli, url, path, signal));
}

/** Path of a temporary file. */
export function temporaryPath({ random }: Pick<Cli, 'random'>): string {
  return join(tmpdir(), `offpeak-${Buffer.from(random.bytes(8)).toString('hex')}`);
}

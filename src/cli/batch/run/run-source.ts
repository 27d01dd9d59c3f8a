import { existsSync } from 'node:fs';
import { basename } from 'node:path';
import type { Cli } from '../../shared/cli.ts';
import { existingFile } from '../../shared/local-file.ts';
import { removeCopy } from '../../storage/fetch-object.ts';
import { fetchInput, temporaryPath } from '../../storage/local-input.ts';
import { isObjectUrl, objectName, parseObjectUrl } from '../../storage/object-url.ts';
import { runFolderPath } from '../../storage/run-folder.ts';
import { lockOutput, type Output } from './output.ts';

/** Input of a run on this machine. */
export interface RunSource {
  /** File; undefined for stdin. */
  path: string | undefined;
  /** Path or URL of the input; undefined for stdin. */
  place: string | undefined;
  /** Name of the input without folders. */
  name: string;
  /** Ends the use of the input. The copy of an object stays for a run that can be resumed. */
  close(output: Output | null): void;
}

/**
 * Opens the input of a run. An object is copied to this machine: a run reads its input several times.
 * @param output option `-o`; a run with the same input and output continues its copy
 */
export async function openSource(
  cli: Cli,
  input: string,
  { output, dryRun, json }: { output?: string; dryRun?: boolean; json?: boolean },
): Promise<RunSource> {
  if (input === '-') return { path: undefined, place: undefined, name: 'stdin', close: () => {} };
  if (!isObjectUrl(input)) {
    const path = existingFile(input, cli.cwd);
    return { path, place: path, name: basename(path), close: () => {} };
  }
  const name = objectName(parseObjectUrl(input));
  const isTemporary = dryRun === true || output === '-';
  const path = isTemporary
    ? temporaryPath(cli)
    : await runFolderPath(cli, { cwd: cli.cwd, input, output: output ?? null }, name);
  const unlock = isTemporary
    ? () => {}
    : lockOutput({ path, name: output ?? `the results of ${input}`, url: input, hasErrors: false });
  const close = (kept: boolean) => {
    if (!kept) removeCopy(path);
    unlock();
  };
  try {
    if (json !== true) cli.terminal.note(`Reading ${input} ...`);
    await fetchInput(cli, input, path);
  } catch (error) {
    close(false);
    throw error;
  }
  return {
    path,
    place: input,
    name,
    close: (to) => close(to !== null && existsSync(`${to.path}.offpeak.json`)),
  };
}

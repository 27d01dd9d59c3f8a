import { hash } from 'node:crypto';
import { rmdirSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { makeFolder } from '../../base/make-folder.ts';
import type { Cli } from '../shared/cli.ts';

/**
 * Path in a folder of its own on this machine, for the state of a run that reads or writes an object. The same `identity` gives
 * the same path, so that a run resumes.
 */
export async function runFolderPath(
  { env }: Pick<Cli, 'env'>,
  identity: unknown,
  name: string,
): Promise<string> {
  const id = hash('sha256', JSON.stringify(identity)).slice(0, 32);
  const folder = join(stateFolder(env), 'offpeak', 'runs', id);
  await makeFolder(folder, 0o700);
  return join(folder, name);
}

/** Removes the folder of a path if it is empty. */
export function removeRunFolder(path: string): void {
  try {
    rmdirSync(dirname(path));
  } catch {
    // It has the state of a run that can be resumed.
  }
}

function stateFolder({ XDG_STATE_HOME: state, HOME: home, LOCALAPPDATA: local }: Cli['env']): string {
  return state || (home && join(home, '.local', 'state')) || local || tmpdir();
}

import { cpSync, existsSync, mkdtempSync, rmSync } from 'node:fs';
import { homedir, tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { installCargo } from '../support/install-cargo.ts';
import { buildGo, installGo } from '../support/install-go.ts';
import { installMaven } from '../support/install-maven.ts';
import { installNode, installPython, pythonIn } from '../support/install-packages.ts';
import type { Installed } from '../support/install-packages.ts';
import { runCells } from '../support/run-cells.ts';
import type { CellsResult } from '../support/run-cells.ts';
import { packageCutoff } from './programs.ts';
import type { Program } from './programs.ts';

const pathOf = (relative: string) => fileURLToPath(new URL(relative, import.meta.url));
const cache = join(process.env['XDG_CACHE_HOME'] ?? join(homedir(), '.cache'), 'offpeak-clients');

const checkoutOf = ({ variable }: { variable: string }) => process.env[variable] ?? '';

/** Installs the packages of a program in the cache, once. */
export async function installProgram({ script, packages, checkout }: Program): Promise<Installed> {
  if (checkout && !existsSync(join(checkoutOf(checkout), checkout.file)))
    return { missing: `${checkout.variable} does not name a folder with ${checkout.file}` };
  if (checkout?.file.endsWith('.go')) return buildGo(cache, checkoutOf(checkout), checkout.file);
  if (script.endsWith('.go')) return installGo(cache, pathOf(`programs/${script}`), packages);
  if (script.endsWith('.rs')) return installCargo(cache, pathOf(`programs/${script}`), packages);
  if (script.endsWith('.java')) return installMaven(cache, packages);
  return script.endsWith('.py')
    ? installPython(
        cache,
        Object.entries(packages).map(([name, version]) => `${name}==${version}`),
        packageCutoff,
      )
    : installNode(cache, packages, packageCutoff);
}

/** Runs an installed program against a server, in a temporary home folder. */
export async function runProgram(
  { script, checkout }: Program,
  folder: string,
  { url, key }: { url: string; key: string },
): Promise<CellsResult> {
  const home = mkdtempSync(join(tmpdir(), 'offpeak-client-'));
  const env = {
    HOME: home,
    TMPDIR: home,
    PYTHONPATH: pathOf('../sdk/python'),
    ...(checkout && { CHECKOUT: checkoutOf(checkout), VERSION: checkout.version ?? '' }),
  };
  const run = (command: string, args: string[]) =>
    runCells(command, args, { url, key, env, limitMs: 400_000 });
  try {
    if (script.endsWith('.go') || script.endsWith('.rs')) return await run(join(folder, 'program'), []);
    if (script.endsWith('.java'))
      return await run('java', ['-cp', join(folder, 'lib', '*'), pathOf(`programs/${script}`)]);
    if (script.endsWith('.py')) return await run(pythonIn(folder), [pathOf(`programs/${script}`)]);
    // Node resolves packages from the location of the module.
    cpSync(pathOf('programs'), join(folder, 'programs'), { recursive: true });
    return await run(process.execPath, [join(folder, 'programs', script)]);
  } finally {
    rmSync(home, { recursive: true, force: true });
  }
}

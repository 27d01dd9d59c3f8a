import { execFile } from 'node:child_process';
import { copyFile, mkdir, readFile, writeFile } from 'node:fs/promises';
import { dirname, join, resolve } from 'node:path';
import { promisify } from 'node:util';
import { installOnce, type Installed } from './install-packages.ts';

const exec = promisify(execFile);
const limits = { timeout: 300_000, killSignal: 'SIGKILL' } as const;
const noGo: Installed = { missing: 'there is no go' };
const hasGo = () =>
  exec('go', ['version']).then(
    () => true,
    () => false,
  );

/**
 * Builds a Go program with these modules, given by path and exact version.
 * @returns folder with the binary `program`
 */
export async function installGo(
  cache: string,
  source: string,
  modules: Record<string, string>,
): Promise<Installed> {
  if (!(await hasGo())) return noGo;
  const text = await readFile(source, 'utf8');
  return installOnce(cache, [modules, text], async (folder) => {
    await mkdir(folder);
    const needed = Object.entries(modules).map(([path, version]) => `require ${path} v${version}\n`);
    await writeFile(join(folder, 'go.mod'), `module program\n\ngo 1.26\n\n${needed.join('')}`);
    await copyFile(source, join(folder, 'main.go'));
    const options = { cwd: folder, ...limits };
    await exec('go', ['mod', 'tidy'], options);
    await exec('go', ['build', '-o', 'program', '.'], options);
  });
}

/**
 * Builds the package of a Go file in a source checkout.
 * @param file path in the checkout
 * @returns folder with the binary `program`
 */
export async function buildGo(cache: string, checkout: string, file: string): Promise<Installed> {
  if (!(await hasGo())) return noGo;
  const version = await exec('git', ['-C', checkout, 'rev-parse', 'HEAD']).then(
    ({ stdout }) => stdout,
    () => null,
  );
  return installOnce(cache, [resolve(checkout), version, file], async (folder) => {
    await mkdir(folder);
    const program = join(resolve(folder), 'program');
    await exec('go', ['build', '-o', program, `./${dirname(file)}`], { cwd: checkout, ...limits });
  });
}

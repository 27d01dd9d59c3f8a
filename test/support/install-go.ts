import { execFile } from 'node:child_process';
import { copyFile, mkdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { installOnce, type Installed } from './install-packages.ts';

const exec = promisify(execFile);

/**
 * Builds a Go program with these modules, given by path and exact version.
 * @returns folder with the binary `program`
 */
export async function installGo(
  cache: string,
  source: string,
  modules: Record<string, string>,
): Promise<Installed> {
  try {
    await exec('go', ['version']);
  } catch {
    return { missing: 'there is no go' };
  }
  const text = await readFile(source, 'utf8');
  return installOnce(cache, [modules, text], async (folder) => {
    await mkdir(folder);
    const needed = Object.entries(modules).map(([path, version]) => `require ${path} v${version}\n`);
    await writeFile(join(folder, 'go.mod'), `module program\n\ngo 1.26\n\n${needed.join('')}`);
    await copyFile(source, join(folder, 'main.go'));
    const options = { cwd: folder, timeout: 300_000, killSignal: 'SIGKILL' } as const;
    await exec('go', ['mod', 'tidy'], options);
    await exec('go', ['build', '-o', 'program', '.'], options);
  });
}

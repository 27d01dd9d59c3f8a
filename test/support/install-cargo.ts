import { execFile } from 'node:child_process';
import { copyFile, mkdir, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { installOnce, type Installed } from './install-packages.ts';

const exec = promisify(execFile);

/**
 * Builds a Rust program with these crates, given by name and exact version. Brackets behind a name have the features of
 * the crate, which are all that it gets.
 * @returns folder with the binary `program`
 */
export async function installCargo(
  cache: string,
  source: string,
  crates: Record<string, string>,
): Promise<Installed> {
  try {
    await exec('cargo', ['--version']);
  } catch {
    return { missing: 'there is no cargo' };
  }
  const text = await readFile(source, 'utf8');
  return installOnce(cache, [crates, text], async (folder) => {
    await mkdir(join(folder, 'src'), { recursive: true });
    await copyFile(source, join(folder, 'src', 'main.rs'));
    await writeFile(join(folder, 'Cargo.toml'), manifestOf(crates));
    await exec('cargo', ['build', '--quiet', '--jobs', '2'], {
      cwd: folder,
      timeout: 580_000,
      killSignal: 'SIGKILL',
    });
    await rename(join(folder, 'target', 'debug', 'program'), join(folder, 'program'));
    await rm(join(folder, 'target'), { recursive: true });
  });
}

function manifestOf(crates: Record<string, string>): string {
  const dependencies = Object.entries(crates).map(([written, version]) => {
    const [, name, features = ''] = /^([^[]+)(?:\[(.*)\])?$/.exec(written)!;
    const named = JSON.stringify(features.split(',').filter(Boolean));
    return `${name} = { version = "=${version}", default-features = false, features = ${named} }\n`;
  });
  const program = '[package]\nname = "program"\nversion = "0.0.0"\nedition = "2021"\n';
  return `${program}\n[profile.dev]\ndebug = false\n\n[dependencies]\n${dependencies.join('')}`;
}

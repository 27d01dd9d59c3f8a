import { execFile } from 'node:child_process';
import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { installOnce, type Installed } from './install-packages.ts';

const exec = promisify(execFile);

/**
 * Downloads these Java packages, given by `group:artifact` and exact version, with their dependencies.
 * @returns folder with the jars in `lib`
 */
export async function installMaven(cache: string, packages: Record<string, string>): Promise<Installed> {
  try {
    await exec('javac', ['-version']);
    await exec('mvn', ['--version']);
  } catch {
    return { missing: 'there is no javac or no mvn' };
  }
  return installOnce(cache, ['maven', packages], async (folder) => {
    await mkdir(folder);
    await writeFile(join(folder, 'pom.xml'), projectOf(packages));
    const copy = ['--batch-mode', '--quiet', 'dependency:copy-dependencies', '-DoutputDirectory=lib'];
    await exec('mvn', copy, { cwd: folder, timeout: 300_000, killSignal: 'SIGKILL' });
  });
}

function projectOf(packages: Record<string, string>): string {
  const dependencies = Object.entries(packages).map(([name, version]) => {
    const [group, artifact] = name.split(':');
    const of = `<groupId>${group}</groupId><artifactId>${artifact}</artifactId><version>${version}</version>`;
    return `<dependency>${of}</dependency>`;
  });
  const project = '<groupId>offpeak</groupId><artifactId>program</artifactId><version>1</version>';
  const model = '<modelVersion>4.0.0</modelVersion>';
  return `<project>${model}${project}<dependencies>${dependencies.join('')}</dependencies></project>\n`;
}

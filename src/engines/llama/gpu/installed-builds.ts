import { readFile, readdir, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { isObject, parseOrUndefined } from '../../../base/fields.ts';
import { sum } from '../../../base/sum.ts';
import { type InstallableKind, type InstalledBuild, installableKinds } from '../../../core/card.ts';
import { engineVersion } from './builds.ts';

/**
 * Builds in the folder of the engine: `<kind>-<version>/node_modules/<package>`, with a record of their size. A build gets
 * this name in one step when it is complete, so a process that was killed leaves none that is partial.
 */
export async function installedBuilds(folder: string): Promise<InstalledBuild[]> {
  const names: string[] = await readdir(folder).catch(() => []);
  const builds: InstalledBuild[] = [];
  for (const name of names.toSorted()) {
    const [kind, version] = splitName(name);
    if (kind !== undefined && version !== undefined)
      builds.push(await readBuild(kind, version, join(folder, name)));
  }
  return builds;
}

export const buildFolder = (folder: string, kind: InstallableKind, version = engineVersion): string =>
  join(folder, `${kind}-${version}`);

export const recordPath = (build: string): string => join(build, 'build.json');

export interface BuildRecord {
  version: string;
  /** Size of all files of the packages. */
  bytes: number;
  /** Hashes by package. */
  packages: Record<string, string>;
}

/** Size of all files below a folder. */
export async function folderBytes(folder: string): Promise<number> {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true });
  const files = entries.filter((entry) => entry.isFile());
  return sum(
    await Promise.all(files.map(async ({ parentPath, name }) => (await stat(join(parentPath, name))).size)),
  );
}

function splitName(name: string): [InstallableKind | undefined, string | undefined] {
  const kind = installableKinds.find((each) => name.startsWith(`${each}-`));
  return [kind, kind && name.slice(kind.length + 1)];
}

async function readBuild(kind: InstallableKind, version: string, path: string): Promise<InstalledBuild> {
  const record = parseOrUndefined(await readFile(recordPath(path), 'utf8').catch(() => ''));
  const bytes = await folderBytes(join(path, 'node_modules')).catch(() => 0);
  const isWhole = isObject(record) && record.bytes === bytes && bytes > 0;
  const state = !isWhole ? 'damaged' : version === engineVersion ? 'ready' : 'other version';
  return { kind, version, bytes, state };
}

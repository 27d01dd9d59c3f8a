import { createHash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { mkdtemp, readdir, rename, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { type FileLock, isLockHeld, lockFile } from '../../../base/file-lock.ts';
import { makeFolder } from '../../../base/make-folder.ts';
import { StartError } from '../../../base/start-error.ts';
import type { InstallableKind } from '../../../core/card.ts';
import {
  type BuildPackage,
  type Platform,
  engineVersion,
  hasMetal,
  kindNames,
  packagesOf,
  platformName,
} from './builds.ts';
import {
  type BuildRecord,
  buildFolder,
  folderBytes,
  installedBuilds,
  recordPath,
} from './installed-builds.ts';
import type { InstallPackages } from './npm.ts';

/** Build that cannot be installed: a sentence, and possibly what to do about it. */
export class BuildError extends StartError {
  readonly hint: string | undefined;

  constructor(message: string, hint?: string, options?: ErrorOptions) {
    super(message, options);
    this.name = 'BuildError';
    this.hint = hint;
  }
}

export interface InstallRequest {
  kind: InstallableKind;
  /** Package files to install instead of fetching them. */
  files: readonly string[];
  signal: AbortSignal;
  /** Called with the packages before they are fetched. */
  onFetch: (packages: readonly string[]) => void;
}

export interface InstallDeps {
  folder: string;
  platform: Platform;
  install: InstallPackages;
}

const partialPrefix = '.partial-';

/**
 * Installs a build, unless it is there. The build appears in one step, and after that those of other versions are removed.
 * @returns its folder, and whether it was there before
 */
export async function installBuild(
  { kind, files, signal, onFetch }: InstallRequest,
  { folder, platform, install }: InstallDeps,
): Promise<{ path: string; present: boolean }> {
  const packages = packagesOf(kind, platform);
  if (!packages) throw noBuild(kind, platform);
  const path = buildFolder(folder, kind);
  const present = (await installedBuilds(folder)).some(
    (build) => build.kind === kind && build.state === 'ready',
  );
  if (present) return { path, present };
  const wanted = files.length > 0 ? await recognize(files, kind, packages) : packages;
  return withLock(folder, async () => {
    // A process that was killed left them: with the lock, no other process writes here.
    await removeWhere(folder, (name) => name.startsWith(partialPrefix));
    const partial = await mkdtemp(join(folder, partialPrefix));
    try {
      const specs = files.length > 0 ? files : wanted.map(({ name }) => `${name}@${engineVersion}`);
      onFetch(wanted.map(({ name }) => name));
      const hashes = await install(partial, specs, { isOffline: files.length > 0, signal }).catch(
        (cause: unknown) => {
          if (signal.aborted) throw cause;
          const why = cause instanceof Error ? cause.message : String(cause);
          const hint = `Without a network: npm pack ${wanted[0]!.name}@${engineVersion} elsewhere, then install it with --from.`;
          throw new BuildError(`npm could not install the build: ${why.replace(/\.$/, '')}.`, hint, {
            cause,
          });
        },
      );
      requireHashes(wanted, hashes);
      const record: BuildRecord = {
        version: engineVersion,
        bytes: await folderBytes(join(partial, 'node_modules')),
        packages: Object.fromEntries(wanted.map(({ name, integrity }) => [name, integrity])),
      };
      await writeFile(recordPath(partial), JSON.stringify(record));
      // A damaged build of this version.
      await rm(path, { recursive: true, force: true });
      await rename(partial, path);
    } finally {
      await rm(partial, { recursive: true, force: true });
    }
    const own = `${kind}-${engineVersion}`;
    await removeWhere(folder, (name) => name.startsWith(`${kind}-`) && name !== own);
    return { path, present: false };
  });
}

/** Removes the builds of one kind, or all. @returns those that were there, such as `cuda-3.21.1` */
export async function removeBuilds(folder: string, kind?: InstallableKind): Promise<string[]> {
  const builds = (await installedBuilds(folder)).filter((build) => kind === undefined || build.kind === kind);
  if (builds.length === 0) return [];
  return withLock(folder, async () => {
    const names = builds.map((build) => `${build.kind}-${build.version}`);
    // Renamed first, so that a process that is killed leaves no half of a build under its name.
    for (const name of names) await rename(join(folder, name), join(folder, `${partialPrefix}${name}`));
    await removeWhere(folder, (name) => name.startsWith(partialPrefix));
    return names;
  });
}

function noBuild(kind: InstallableKind, platform: Platform): BuildError {
  const name = kindNames[kind];
  if (hasMetal(platform))
    return new BuildError(
      `On this Mac there is no build for ${name}.`,
      'The standard build uses its card, with Metal.',
    );
  return new BuildError(
    `node-llama-cpp has no build for ${name} on ${platformName(platform)}.`,
    'It has them for linux-x64 and win-x64.',
  );
}

/** Packages of the files, by their hashes. The first package must be among them. */
async function recognize(
  files: readonly string[],
  kind: InstallableKind,
  packages: readonly BuildPackage[],
): Promise<BuildPackage[]> {
  const found: BuildPackage[] = [];
  for (const file of files) {
    const integrity = await hashOf(file);
    const known = packages.find((each) => each.integrity === integrity);
    if (!known)
      throw new BuildError(
        `${file} is not a package of the ${kindNames[kind]} build ${engineVersion}: its hash is ${integrity}.`,
        `Get the file with: npm pack ${packages[0]!.name}@${engineVersion}`,
      );
    found.push(known);
  }
  if (!found.includes(packages[0]!))
    throw new BuildError(
      `The file of ${packages[0]!.name} is missing.`,
      `Get it with: npm pack ${packages[0]!.name}@${engineVersion}`,
    );
  return found;
}

async function hashOf(file: string): Promise<string> {
  const hash = createHash('sha512');
  try {
    for await (const chunk of createReadStream(file)) hash.update(chunk as Buffer);
  } catch (cause) {
    throw new BuildError(`${file} cannot be read: ${(cause as Error).message}.`, undefined, { cause });
  }
  return `sha512-${hash.digest('base64')}`;
}

function requireHashes(packages: readonly BuildPackage[], hashes: Record<string, string>): void {
  for (const { name, integrity } of packages)
    if (hashes[name] !== integrity)
      throw new BuildError(
        `The registry sent another ${name} ${engineVersion}: its hash is ${hashes[name] ?? 'unknown'}, not ${integrity}.`,
        'Nothing was installed. Check the registry that npm uses: npm config get registry',
      );
}

async function withLock<T>(folder: string, run: () => Promise<T>): Promise<T> {
  await makeFolder(folder, 0o700);
  let lock: FileLock;
  try {
    lock = lockFile(join(folder, 'lock.db'));
  } catch (cause) {
    if (!isLockHeld(cause)) throw cause;
    throw new BuildError(
      `Another process is changing the builds in ${folder}.`,
      'Run the command again later.',
    );
  }
  try {
    return await run();
  } finally {
    lock.release();
  }
}

async function removeWhere(folder: string, isWanted: (name: string) => boolean): Promise<void> {
  for (const name of await readdir(folder))
    if (isWanted(name)) await rm(join(folder, name), { recursive: true, force: true });
}

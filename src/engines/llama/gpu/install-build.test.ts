import { createHash } from 'node:crypto';
import { mkdirSync, mkdtempSync, readFileSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { lockFile } from '../../../base/file-lock.ts';
import { packageFolder } from '../../../base/program.ts';
import { engineVersion, packagesOf } from './builds.ts';
import { type BuildError, type InstallDeps, installBuild, removeBuilds } from './install-build.ts';
import { installedBuilds } from './installed-builds.ts';
import type { InstallPackages } from './npm.ts';

const platform = { platform: 'linux', arch: 'x64' } as const;
const own = `cuda-${engineVersion}`;
let parent: string;
let folder: string;
let installs: { packages: readonly string[]; isOffline: boolean }[];

beforeEach(() => {
  parent = mkdtempSync(join(tmpdir(), 'offpeak-builds-'));
  folder = join(parent, 'data', 'engine');
  installs = [];
});
afterEach(() => rmSync(parent, { recursive: true, force: true }));

const hashes = Object.fromEntries(
  (['cuda', 'vulkan'] as const).flatMap((kind) =>
    packagesOf(kind, platform)!.map(({ name, integrity }) => [name, integrity]),
  ),
);

/** npm with a registry that has the right packages. */
const npm: InstallPackages = async (at, packages, { isOffline }) => {
  installs.push({ packages, isOffline });
  mkdirSync(join(at, 'node_modules'));
  writeFileSync(join(at, 'node_modules', 'addon'), 'build');
  return hashes;
};

function install(more: Partial<InstallDeps> = {}, files: string[] = [], kind: 'cuda' | 'vulkan' = 'cuda') {
  const request = { kind, files, signal: new AbortController().signal, onFetch: () => {} };
  return installBuild(request, { folder, platform, install: npm, ...more });
}

async function fault(work: Promise<unknown>): Promise<BuildError> {
  return (await work.then(
    () => new Error('It was installed.'),
    (error: unknown) => error,
  )) as BuildError;
}

const visible = () => readdirSync(folder).filter((name) => name !== 'lock.db');

test('the version is that of the package, which every build must have', () => {
  const { optionalDependencies } = JSON.parse(readFileSync(join(packageFolder, 'package.json'), 'utf8')) as {
    optionalDependencies: Record<string, string>;
  };
  expect(optionalDependencies['node-llama-cpp']).toBe(engineVersion);
});

test('a build is installed once', async () => {
  expect(await install()).toEqual({ path: join(folder, own), present: false });
  expect(await install()).toEqual({ path: join(folder, own), present: true });
  expect(installs).toEqual([
    {
      packages: [
        `@node-llama-cpp/linux-x64-cuda@${engineVersion}`,
        `@node-llama-cpp/linux-x64-cuda-ext@${engineVersion}`,
      ],
      isOffline: false,
    },
  ]);
  expect(await installedBuilds(folder)).toEqual([
    { kind: 'cuda', version: engineVersion, bytes: 5, state: 'ready' },
  ]);
});

test('packages with other hashes are not installed', async () => {
  const other: InstallPackages = async (...call) => {
    await npm(...call);
    return { ...hashes, '@node-llama-cpp/linux-x64-cuda': 'sha512-other' };
  };
  const { message, hint } = await fault(install({ install: other }));
  expect(message).toMatch(
    /registry sent another @node-llama-cpp\/linux-x64-cuda .*: its hash is sha512-other, not/,
  );
  expect(hint).toContain('npm config get registry');
  expect(visible()).toEqual([]);
});

test('a failure of npm leaves the old build, and the reason', async () => {
  mkdirSync(join(folder, 'cuda-3.20.0'), { recursive: true });
  const failing: InstallPackages = async (at) => {
    writeFileSync(join(at, 'half'), '');
    throw new Error('FetchError: request failed.');
  };
  expect((await fault(install({ install: failing }))).message).toBe(
    'npm could not install the build: FetchError: request failed.',
  );
  expect(visible()).toEqual(['cuda-3.20.0']);
});

test('a process that was killed leaves the old build, and the next one cleans up', async () => {
  mkdirSync(join(folder, 'cuda-3.20.0'), { recursive: true });
  mkdirSync(join(folder, '.partial-abc', 'node_modules'), { recursive: true });
  expect(await installedBuilds(folder)).toMatchObject([{ version: '3.20.0' }]);
  await install();
  expect(visible()).toEqual([own]);
});

test('a damaged build is replaced', async () => {
  await install();
  writeFileSync(join(folder, own, 'node_modules', 'addon'), 'cut');
  expect(await installedBuilds(folder)).toMatchObject([{ state: 'damaged' }]);
  expect(await install()).toMatchObject({ present: false });
  expect(await installedBuilds(folder)).toMatchObject([{ state: 'ready' }]);
});

test('two processes do not install at the same time', async () => {
  mkdirSync(folder, { recursive: true });
  const lock = lockFile(join(folder, 'lock.db'));
  expect((await fault(install())).message).toMatch(/^Another process is changing the builds/);
  lock.release();
  expect(await install()).toMatchObject({ present: false });
});

test('files are recognized by their hashes, before npm sees them', async () => {
  const file = join(parent, 'vulkan.tgz');
  writeFileSync(file, 'not the package');
  const hash = createHash('sha512').update('not the package').digest('base64');
  const { message, hint } = await fault(install({}, [file], 'vulkan'));
  expect(message).toBe(
    `${file} is not a package of the Vulkan build ${engineVersion}: its hash is sha512-${hash}.`,
  );
  expect(hint).toBe(`Get the file with: npm pack @node-llama-cpp/linux-x64-vulkan@${engineVersion}`);
  expect((await fault(install({}, [join(parent, 'none.tgz')]))).message).toContain('none.tgz cannot be read');
  expect(installs).toEqual([]);
});

test('a system without a build is named', async () => {
  const onMac = { platform: 'darwin', arch: 'arm64' } as const;
  expect(await fault(install({ platform: onMac }))).toMatchObject({
    message: 'On this Mac there is no build for CUDA.',
    hint: 'The standard build uses its card, with Metal.',
  });
  const arm = { platform: 'linux', arch: 'arm64' } as const;
  expect((await fault(install({ platform: arm }))).message).toBe(
    'node-llama-cpp has no build for CUDA on linux-arm64.',
  );
});

test('builds are removed by kind, or all', async () => {
  expect(await removeBuilds(folder)).toEqual([]);
  await install();
  await install({}, [], 'vulkan');
  expect(await removeBuilds(folder, 'cuda')).toEqual([own]);
  expect(visible()).toEqual([`vulkan-${engineVersion}`]);
  expect(await removeBuilds(folder)).toEqual([`vulkan-${engineVersion}`]);
  expect(visible()).toEqual([]);
});

import { execFile, spawn } from 'node:child_process';
import type { ChildProcess } from 'node:child_process';
import { mkdirSync, mkdtempSync, readFileSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { delimiter, dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, afterEach, beforeAll, expect, it } from 'vitest';

const root = join(import.meta.dirname, '../..');
const folder = mkdtempSync(join(tmpdir(), 'offpeak-package-'));
const installed = join(folder, 'installed');
const running = new Map<ChildProcess, Promise<number | null>>();

/** Environment without npm's variables for scripts; registry settings stay. */
const ofTheCheckout =
  /^(npm_(?!config_)|npm_config_(local_)?prefix$|OFFPEAK_|NODE_(OPTIONS|ENV|PATH|COMPILE_CACHE)$)/;

/** Environment of a machine with a recent Node. */
const env: NodeJS.ProcessEnv = {
  ...Object.fromEntries(Object.entries(process.env).filter(([name]) => !ofTheCheckout.test(name))),
  PATH: `${dirname(process.execPath)}${delimiter}${process.env.PATH}`,
};

async function npm(cwd: string, ...args: string[]): Promise<string> {
  const options = ['--no-audit', '--no-fund', '--prefer-offline', '--loglevel=error'];
  const { stdout } = await promisify(execFile)('npm', [...args, ...options], { cwd, env });
  return stdout;
}

beforeAll(async () => {
  mkdirSync(installed);
  await npm(root, 'pack', '--pack-destination', folder);
  await npm(
    installed,
    'install',
    '--ignore-scripts',
    join(
      folder,
      readdirSync(folder).find((name) => name.endsWith('.tgz'))!,
    ),
  );
});

// Also after a failed expectation, because the next server needs the data folder.
afterEach(async () => {
  for (const [child, exited] of running) {
    try {
      process.kill(-child.pid!, 'SIGKILL');
    } catch {
      // The process has exited, and its pipes are about to close.
    }
    await exited;
  }
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

interface Serving {
  /** Resolves to stdout once it matches, or to both streams when the process has exited. */
  told(pattern: RegExp): Promise<string>;
  end(): Promise<number | null>;
}

function serve(...flags: string[]): Serving {
  const child = spawn('npx', ['offpeak', 'serve', '--port', '0', ...flags], {
    cwd: installed,
    env,
    detached: true,
  });
  let text = '';
  let ended = false;
  const look = new Set<() => void>();
  const heard = (chunk?: Buffer) => {
    text += chunk?.toString() ?? '';
    for (const one of look) one();
  };
  child.stdout.on('data', heard);
  child.stderr.on('data', heard);
  const exited = new Promise<number | null>((resolve) =>
    child.on('close', (code) => {
      ended = true;
      running.delete(child);
      heard();
      resolve(code);
    }),
  );
  running.set(child, exited);
  return {
    told: (pattern) =>
      new Promise((resolve) => {
        const one = () => {
          if (!pattern.test(text) && !ended) return;
          look.delete(one);
          resolve(text);
        };
        look.add(one);
        one();
      }),
    end() {
      process.kill(-child.pid!, 'SIGTERM');
      return exited;
    },
  };
}

it('contains what is needed to run it and to read about it, and no development files', () => {
  const files = readdirSync(join(installed, 'node_modules/offpeak'), { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name).slice(join(installed, 'node_modules/offpeak/').length))
    .filter((file) => !file.startsWith('node_modules/'));
  const expected =
    /^(bin\/offpeak\.cjs|dist\/.+\.js|dist\/console\/(index\.html|assets\/[\w.-]+\.(js|css|svg))(\.gz)?|dist\/(scalar\.js\.gz|sbom\.cdx\.json)|docs\/.+\.(md|svg|webp)|examples\/[\w-]+\.(jsonl|csv)|models\/(README\.md|offpeak-tiny\.gguf)|README\.md|SECURITY\.md|LICENSE|package\.json)$/;
  expect(files.filter((file) => !expected.test(file))).toEqual([]);
  expect(files).toEqual(
    expect.arrayContaining([
      'dist/main.js',
      'dist/scalar.js.gz',
      'dist/console/index.html.gz',
      'docs/batches.md',
      'models/offpeak-tiny.gguf',
    ]),
  );
});

interface Lock {
  packages: Record<string, { version: string; integrity: string; inBundle?: true }>;
}
const readJson = (...path: string[]): unknown => JSON.parse(readFileSync(join(...path), 'utf8'));
const packagesOf = (...path: string[]) => (readJson(...path) as Lock).packages;
const lock = packagesOf(root, 'package-lock.json');
const manifest = readJson(root, 'package.json') as Record<
  'dependencies' | 'optionalDependencies',
  Record<string, string>
>;
const prefix = 'node_modules/offpeak/';

it('C24: is installed with the libraries of the lock file, not the newest, and without install scripts', () => {
  const all = packagesOf(installed, 'node_modules/.package-lock.json');
  const bundled = Object.entries(all).filter(([path]) => path.startsWith(prefix));
  expect(bundled.map(([path]) => path.slice(prefix.length))).toEqual(
    expect.arrayContaining(Object.keys(manifest.dependencies).map((name) => `node_modules/${name}`)),
  );
  for (const [path, { version, inBundle }] of bundled) {
    const file = readJson(installed, path, 'package.json') as { version: string };
    const known = lock[path.slice(prefix.length)]?.version;
    expect([path, version, file.version, inBundle]).toEqual([path, known, known, true]);
  }
});

it('C24: resolves every library of the server inside its own folder', async () => {
  const unpacked = join(installed, prefix);
  const program = `const { resolve } = require('node:module').createRequire(process.argv[1]);
    console.log(JSON.stringify(process.argv.slice(2).map((name) => resolve(name))));`;
  const names = Object.keys(manifest.dependencies);
  const args = ['--eval', program, join(unpacked, 'dist/main.js'), ...names];
  const { stdout } = await promisify(execFile)(process.execPath, args, { cwd: installed, env });
  const paths = JSON.parse(stdout) as string[];
  expect(paths.length).toBeGreaterThan(10);
  expect(paths.filter((path) => !path.startsWith(join(unpacked, 'node_modules')))).toEqual([]);
});

it('C24: takes the embedded engine in an exact version', () => {
  const exact = /^(npm:@[\w/-]+@)?\d+\.\d+\.\d+$/;
  const ranges = Object.values(manifest.optionalDependencies);
  expect(ranges.length).toBeGreaterThan(0);
  expect(ranges.filter((range) => !exact.test(range))).toEqual([]);
});

it('C24: lists in its SBOM everything that the lock file has for users, with its hash', () => {
  const unpacked = join(installed, prefix);
  const bom = readJson(unpacked, 'dist/sbom.cdx.json') as {
    bomFormat: string;
    metadata: { component: { name: string; version: string } };
    components: { hashes: { content: string }[] }[];
  };
  const { name, version } = readJson(unpacked, 'package.json') as { name: string; version: string };
  expect(bom.bomFormat).toBe('CycloneDX');
  expect(bom.metadata.component).toMatchObject({ name, version });
  const listed = new Set(bom.components.flatMap(({ hashes }) => hashes.map(({ content }) => content)));
  const hashOf = (path: string) =>
    Buffer.from(lock[path]!.integrity.replace('sha512-', ''), 'base64').toString('hex');
  const paths = Object.keys(packagesOf(installed, 'node_modules/.package-lock.json'));
  const used = paths.map((path) => path.replace(prefix, '')).filter((path) => lock[path]);
  expect(used.length).toBeGreaterThan(100);
  expect(used.filter((path) => !listed.has(hashOf(path)))).toEqual([]);
  // Tools of the checkout are not in the package.
  expect(listed).not.toContain(hashOf('node_modules/vitest'));
});

it('explains how to get Node 24 on a machine with an older Node', async () => {
  const older = join(folder, 'older.cjs');
  writeFileSync(
    older,
    "Object.defineProperty(process, 'versions', { value: { ...process.versions, node: '20.20.2' } });\n" +
      "Object.defineProperty(process, 'version', { value: 'v20.20.2' });\n",
  );
  const bin = join(installed, 'node_modules/offpeak/bin/offpeak.cjs');
  const started = promisify(execFile)(process.execPath, ['--require', older, bin, 'serve'], { env });
  const failure = (await started.catch((error: unknown) => error)) as { code: number; stderr: string };
  expect(failure.code).toBe(1);
  expect(failure.stderr).toMatch(
    /^offpeak needs Node 24 or newer; this is v20\.20\.2\.\n.*(npm install node-|Install Node 24)/,
  );
});

it('contains the embedded engine, built only for the CPU', () => {
  const builds = readdirSync(join(installed, 'node_modules/@node-llama-cpp'));
  expect(builds.filter((name) => /cuda|vulkan/.test(name))).toEqual([]);
  expect(builds.some((name) => name.includes(process.arch))).toBe(true);
});

it('answers with its included model in an empty folder, and prints the command as it was called', async () => {
  const server = serve();
  const text = await server.told(/Press Ctrl-C to stop/);
  const [, url] = /ready at (\S+)/.exec(text) ?? [];
  const [, key] = /API key +(\S+)/.exec(text) ?? [];
  expect(text).toContain('npx offpeak chat');
  const response = await fetch(`${url}/v1/chat/completions`, {
    method: 'POST',
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
    body: JSON.stringify({
      model: 'default',
      temperature: 0,
      messages: [{ role: 'user', content: 'Capital of Italy?' }],
    }),
  });
  expect(await response.json()).toMatchObject({
    choices: [{ message: { content: expect.stringMatching(/rome/i) } }],
  });

  for (const page of ['docs/batches', 'docs/api', 'docs/api/scalar.js', 'llms.txt'])
    expect((await fetch(`${url}/${page}`)).status, page).toBe(200);

  const [, example] = /batch run (\S+) -o/.exec(text) ?? [];
  const { stdout } = await promisify(execFile)('npx', ['offpeak', 'files', 'validate', example!], {
    cwd: installed,
    env,
  });
  expect(stdout).toContain('100');
  await server.end();
});

it('without its optional packages, explains what the embedded model needs, and serves upstreams', async () => {
  await npm(installed, 'prune', '--omit=optional');
  expect(await serve().told(/never/)).toMatch(
    /installed without its optional packages.*npm install --omit=optional node-llama-cpp@3 @node-llama-cpp\//,
  );
  writeFileSync(
    join(installed, 'offpeak.yaml'),
    'models:\n  - { id: far, serves: [chat], engine: { kind: openai, flavor: openai, url: "http://127.0.0.1:9/v1", slots: 4 } }\n',
  );
  const server = serve();
  expect(await server.told(/Press Ctrl-C to stop/)).toContain('far');
  await server.end();
});

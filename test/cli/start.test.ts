// The cost of a start is the code that it loads: these tests count files, not milliseconds.

import { spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer, type AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { delimiter, dirname, join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';

const root = join(import.meta.dirname, '../..');
const folder = mkdtempSync(join(tmpdir(), 'offpeak-start-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const tellLoaded = `data:text/javascript,${encodeURIComponent(`
  import { registerHooks } from 'node:module';
  registerHooks({ load(url, context, next) { process._rawDebug(url); return next(url, context); } });
`)}`;

/** Returns the files that a command line loads before it exits with `code`, as paths in the repository. */
function loadedBy(argv: string[], code = 0): string[] {
  const { stderr, status } = spawnSync(
    process.execPath,
    ['--import', tellLoaded, join(root, 'src/main.ts'), ...argv],
    { encoding: 'utf8', env: { PATH: process.env.PATH } },
  );
  expect(status).toBe(code);
  return [...stderr.matchAll(/^file:\/\/(.*)$/gm)].map(([, path = '']) => path.slice(root.length + 1));
}

const packageOf = (path: string) => /^node_modules\/((?:@[^/]+\/)?[^/]+)/.exec(path)?.[1];

describe.each([
  ['offpeak', '--help'],
  ['offpeak', '--version'],
])('%s %s', (_, flag) => {
  it('loads no command, and only the package that parses the command line', () => {
    const loaded = loadedBy([flag]);
    expect(new Set(loaded.flatMap((path) => packageOf(path) ?? []))).toEqual(new Set(['commander']));
    const own = loaded.filter((path) => path.startsWith('src/'));
    expect(own).toContain('src/cli/run.ts');
    expect(own.length).toBeLessThanOrEqual(20);
  });
});

describe('offpeak serve', () => {
  it('loads packages only when needed: the upstream client of undici, and only its own engine', async () => {
    const data = join(folder, 'data');
    const config = join(folder, 'offpeak.yaml');
    const engine = { kind: 'openai', url: 'http://127.0.0.1:9/v1' };
    writeFileSync(config, JSON.stringify({ models: [{ id: 'm', serves: ['chat'], engine }], data }));
    // The listener opens last: if it fails, everything else of a start was loaded.
    const taken = createServer();
    await once(taken.listen(0, '127.0.0.1'), 'listening');
    const { port } = taken.address() as AddressInfo;
    try {
      const loaded = loadedBy(['serve', '--config', config, '--port', String(port)], 1);
      const packages = new Set(loaded.flatMap((path) => packageOf(path) ?? []));
      expect([...packages]).toEqual(expect.arrayContaining(['fastify', 'pino', 'undici', 'yaml']));
      const later = [
        '@huggingface/jinja',
        'ajv',
        'ajv-formats',
        'cli-table3',
        'marked',
        'pg',
        'pino-pretty',
        'prom-client',
        're2js',
        'ws',
      ];
      expect(later.filter((name) => packages.has(name))).toEqual([]);
      expect(loaded).not.toContain('node_modules/undici/index.js');
      expect(loaded.filter((path) => packageOf(path)).length).toBeLessThan(320);
      const elsewhere =
        /^src\/(engines\/(llama\/(gguf|inspect)|scripted|upstream\/probe\/examine)|store\/postgres)/;
      expect(loaded.filter((path) => elsewhere.test(path))).toEqual([]);
    } finally {
      taken.close();
    }
  });
});

describe('the launcher of a checkout', () => {
  const lock = (version: string) => JSON.stringify({ packages: { 'node_modules/a': { version } } });
  const write = (path: string, text: string) => {
    mkdirSync(dirname(join(folder, path)), { recursive: true });
    writeFileSync(join(folder, path), text);
  };

  /** Runs the launcher and returns the number of npm installs so far. */
  function launch(): number {
    const { status, stderr } = spawnSync(process.execPath, [join(folder, 'tools/install.mjs')], {
      encoding: 'utf8',
      env: { PATH: `${join(folder, 'path')}${delimiter}${process.env.PATH}` },
    });
    expect([status, stderr.replace(/^Installing packages.*\n/, '')]).toEqual([0, '']);
    return readFileSync(join(folder, 'installs'), 'utf8').length;
  }

  it('compares installed and required versions whenever either was written', () => {
    cpSync(join(root, 'tools/install.mjs'), join(folder, 'tools/install.mjs'));
    write('installs', '');
    write(
      'path/npm',
      '#!/bin/sh\ncp package-lock.json node_modules/.package-lock.json\nprintf i >> installs\n',
    );
    chmodSync(join(folder, 'path/npm'), 0o755);
    write('node_modules/node/bin/node', '');
    write('package-lock.json', lock('1.0.0'));
    expect([launch(), launch()]).toEqual([1, 1]);
    write('package-lock.json', lock('1.0.1'));
    expect([launch(), launch()]).toEqual([2, 2]);
    write('node_modules/.package-lock.json', lock('1.0.0'));
    expect([launch(), launch()]).toEqual([3, 3]);
    rmSync(join(folder, 'node_modules/.package-lock.json'));
    expect(launch()).toBe(4);
  });
});

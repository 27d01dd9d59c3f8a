// What a start costs is what it loads: files are counted here, not milliseconds.

import { spawnSync } from 'node:child_process';
import { chmodSync, cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
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

/** The files that a command line loads, as paths in the repository. */
function loadedBy(...argv: string[]): string[] {
  const { stderr, status } = spawnSync(
    process.execPath,
    ['--import', tellLoaded, join(root, 'src/main.ts'), ...argv],
    { encoding: 'utf8', env: { PATH: process.env.PATH } },
  );
  expect(status).toBe(0);
  return [...stderr.matchAll(/^file:\/\/(.*)$/gm)].map(([, path = '']) => path.slice(root.length + 1));
}

const packageOf = (path: string) => /^node_modules\/((?:@[^/]+\/)?[^/]+)/.exec(path)?.[1];

describe.each([
  ['offpeak', '--help'],
  ['offpeak', '--version'],
])('%s %s', (_, flag) => {
  it('loads no command and no package but the one that reads the command line', () => {
    const loaded = loadedBy(flag);
    expect(new Set(loaded.flatMap((path) => packageOf(path) ?? []))).toEqual(new Set(['commander']));
    const own = loaded.filter((path) => path.startsWith('src/'));
    expect(own).toContain('src/cli/run.ts');
    expect(own.length).toBeLessThan(20);
  });
});

describe('the launcher of a checkout', () => {
  const lock = (version: string) => JSON.stringify({ packages: { 'node_modules/a': { version } } });
  const write = (path: string, text: string) => {
    mkdirSync(dirname(join(folder, path)), { recursive: true });
    writeFileSync(join(folder, path), text);
  };

  /** How many times npm was asked to install. */
  function launch(): number {
    const { status, stderr } = spawnSync(process.execPath, [join(folder, 'tools/install.mjs')], {
      encoding: 'utf8',
      env: { PATH: `${join(folder, 'path')}${delimiter}${process.env.PATH}` },
    });
    expect([status, stderr.replace(/^Installing packages.*\n/, '')]).toEqual([0, '']);
    return readFileSync(join(folder, 'installs'), 'utf8').length;
  }

  it('compares what is installed with what is wanted whenever one of the two was written', () => {
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

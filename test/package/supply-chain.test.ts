import { spawnSync } from 'node:child_process';
import { cpSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { delimiter, dirname, join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';

// C24: what comes from a registry, and what it may do. package.test.ts installs the package itself.

const root = join(import.meta.dirname, '../..');
const read = (path: string) => readFileSync(join(root, path), 'utf8');
interface Locked {
  integrity?: string;
  resolved?: string;
  hasInstallScript?: true;
}
const locked = (path: string) =>
  Object.entries((JSON.parse(read(path)) as { packages: Record<string, Locked> }).packages).filter(
    ([name]) => name !== '',
  );

/** Makes a folder with these files, executable where they begin with `#!`. */
function folderWith(files: Record<string, string>) {
  const folder = mkdtempSync(join(tmpdir(), 'offpeak-supply-'));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  for (const [path, text] of Object.entries(files)) {
    mkdirSync(dirname(join(folder, path)), { recursive: true });
    writeFileSync(join(folder, path), text, { mode: text.startsWith('#!') ? 0o755 : 0o644 });
  }
  return folder;
}

describe('C24: the lock files', () => {
  const lockFiles = [
    'package-lock.json',
    'tools/runtime/package-lock.json',
    'tools/openapi/package-lock.json',
  ];

  it.each(lockFiles)('%s has a hash for every package', (path) => {
    expect(locked(path).length).toBeGreaterThan(2);
    const bad = locked(path).filter(
      ([, { integrity = '', resolved }]) => !integrity.startsWith('sha512-') || resolved !== undefined,
    );
    expect(bad.map(([name]) => name)).toEqual([]);
  });

  it('name one package with an install script, which Offpeak does not need', () => {
    const scripted = lockFiles.flatMap((path) =>
      locked(path).flatMap(([name, { hasInstallScript }]) => (hasInstallScript ? [name] : [])),
    );
    expect(scripted).toEqual(['node_modules/node-llama-cpp']);
  });

  it('have no direct package without a reason', () => {
    const { dependencies, optionalDependencies } = JSON.parse(read('package.json')) as Record<
      string,
      Record<string, string>
    >;
    const names = Object.keys({ ...dependencies, ...optionalDependencies }).filter(
      // Placeholders that keep npm from downloading builds for graphics cards.
      (name) => !name.startsWith('@node-llama-cpp/'),
    );
    const reasons = read('docs/decisions/0002-libraries.md');
    expect(names.filter((name) => !reasons.includes(`\`${name}\``))).toEqual([]);
  });
});

describe('C24: the launcher of a checkout', () => {
  const [platform, version] = [`node-${process.platform}-${process.arch}`, '24.99.0'];
  /** Pretends to be npm: logs its arguments and installs what the launcher looks for. */
  const npm = `#!/bin/sh
echo "$PWD $*" >> "$LOG"
[ "\${PWD##*/}" = runtime ] && [ -n "$OFFLINE" ] && exit 1
mkdir -p node_modules/${platform}/bin && cp package-lock.json node_modules/.package-lock.json
echo '{ "version": "${version}" }' > node_modules/${platform}/package.json
printf '#!/bin/sh\\necho the pinned one' > node_modules/${platform}/bin/node
chmod +x node_modules/${platform}/bin/node
`;
  const checkout = () => {
    const folder = folderWith({
      'path/npm': npm,
      'package-lock.json': '{ "packages": {} }',
      'tools/runtime/package.json': `{ "optionalDependencies": { "${platform}": "${version}" } }`,
      'tools/runtime/package-lock.json': '{}',
    });
    cpSync(join(root, 'tools/install.mjs'), join(folder, 'tools/install.mjs'));
    return folder;
  };
  const launch = (folder: string, more: Record<string, string> = {}) => {
    const { status, stderr } = spawnSync(process.execPath, [join(folder, 'tools/install.mjs')], {
      encoding: 'utf8',
      env: {
        PATH: `${join(folder, 'path')}${delimiter}${process.env.PATH}`,
        LOG: join(folder, 'log'),
        ...more,
      },
    });
    expect(status, stderr).toBe(0);
    return { stderr, calls: readFileSync(join(folder, 'log'), 'utf8').trim().split('\n') };
  };

  it('runs no install script, and takes the runtime from a package that has none', () => {
    const folder = checkout();
    const { calls } = launch(folder);
    expect(calls).toHaveLength(2);
    for (const call of calls) expect(call).toMatch(/ ci --ignore-scripts /);
    expect(calls.map((call) => call.split(' ')[0])).toEqual([folder, join(folder, 'tools/runtime')]);
    const { stdout } = spawnSync(join(folder, 'node_modules/.bin/node'), { encoding: 'utf8' });
    expect(stdout.trim()).toBe('the pinned one');
    // A plain `npm ci` removes the link; the download is kept.
    rmSync(join(folder, 'node_modules/node'));
    launch(folder);
    expect(launch(folder).calls).toHaveLength(2);
    expect(existsSync(join(folder, 'node_modules/node/bin/node'))).toBe(true);
  });

  it('replaces a runtime of another version', () => {
    const folder = checkout();
    launch(folder);
    writeFileSync(join(folder, 'node_modules/node/package.json'), '{ "version": "24.98.0" }');
    expect(launch(folder).calls).toHaveLength(3);
    expect(launch(folder).calls).toHaveLength(3);
  });

  it('runs on the Node of the machine when the runtime cannot be downloaded', () => {
    const { stderr } = launch(checkout(), { OFFLINE: 'yes' });
    expect(stderr).toContain(`Running on Node ${process.version} instead of ${version}.`);
  });
});

describe('C24: npm run audit', () => {
  const audit = (answer: string) => {
    const folder = folderWith({ npm: `#!/bin/sh\necho "$*" >> "$LOG"\ncat "$ANSWER"\nexit 1\n`, answer });
    const { status, stdout, stderr } = spawnSync(process.execPath, [join(root, 'tools/audit.mjs')], {
      encoding: 'utf8',
      env: {
        PATH: `${folder}${delimiter}${process.env.PATH}`,
        LOG: join(folder, 'log'),
        ANSWER: join(folder, 'answer'),
      },
    });
    expect(readFileSync(join(folder, 'log'), 'utf8')).toBe('audit --omit=dev --json\n');
    return { status, stdout, stderr };
  };
  const report = (severity: string, counts: { high: number; critical: number; total: number }) =>
    JSON.stringify({
      vulnerabilities: { pkg: { name: 'pkg', severity, via: [{ title: 'Reads the heap' }, 'other'] } },
      metadata: {
        vulnerabilities: { info: 0, low: 0, moderate: 0, ...counts },
        dependencies: { total: 230 },
      },
    });

  it.each(['high', 'critical'])('fails for a vulnerability of %s severity', (severity) => {
    const counts = { high: 0, critical: 0, [severity]: 1, total: 1 };
    const { status, stdout } = audit(report(severity, counts));
    expect(status).toBe(1);
    expect(stdout).toContain(`${severity}: pkg: Reads the heap; through other`);
  });

  it('lists others without failing', () => {
    const { status, stdout } = audit(report('moderate', { high: 0, critical: 0, total: 1 }));
    expect([status, stdout]).toEqual([0, expect.stringContaining('moderate: pkg')]);
  });

  it.each(['', 'not JSON', '{"message":"405 Method Not Allowed","error":{"summary":""}}'])(
    'warns when the registry does not answer: %s',
    (answer) => {
      const { status, stderr } = audit(answer);
      expect([status, stderr]).toEqual([0, expect.stringContaining('WARNING: the registry did not answer')]);
    },
  );

  it('is a part of CI', () => expect(read('.ci/run')).toMatch(/^npm run --silent audit$/m));
});

describe('C24: the image', () => {
  const dockerfile = read('Dockerfile');

  it('takes its base by digest where one is given, once for both stages', () => {
    const bases = [...dockerfile.matchAll(/^FROM (\S+)/gm)].map(([, base]) => base);
    expect(bases).toEqual(['${NODE_IMAGE}', '${NODE_IMAGE}']);
    expect(dockerfile).toMatch(/^ARG NODE_IMAGE=node:24-bookworm-slim(@sha256:[0-9a-f]{64})?$/m);
  });

  it('runs no install scripts', () => {
    const installs = dockerfile.match(/npm (ci|install)\b.*/g) ?? [];
    expect(installs).toHaveLength(2);
    for (const each of installs) expect(each).toContain('--ignore-scripts');
  });
});

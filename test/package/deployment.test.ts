import { execFile, execFileSync, spawnSync } from 'node:child_process';
import { copyFileSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { parse } from 'yaml';
import { environmentKeys } from '../../src/config/keys.ts';
import { loadConfig } from '../../src/config.ts';
import { runCli } from '../cli/support/run-cli.ts';

const root = join(import.meta.dirname, '../..');
const read = (path: string) => readFileSync(join(root, path), 'utf8');

interface Service {
  environment?: Record<string, string>;
  volumes?: string[];
  stop_grace_period?: string;
}
const compose = parse(read('compose.yaml'), { merge: true }) as {
  services: Record<string, Service>;
  volumes: Record<string, unknown>;
};
const drainSeconds =
  loadConfig({ env: {}, cwd: '/nowhere', exists: (path) => !path.endsWith('offpeak.yaml') }).drainMs / 1000;

it('the image, the containers and the service leave time for requests in flight', () => {
  const servers = Object.values(compose.services).filter((service) => service.stop_grace_period);
  expect(servers).toHaveLength(3);
  for (const { stop_grace_period: grace } of servers)
    expect(Number.parseInt(grace!, 10)).toBeGreaterThan(drainSeconds);
  const [, timeout] = /^TimeoutStopSec=(\d+)$/m.exec(read('deploy/offpeak.service')) ?? [];
  expect(Number(timeout)).toBeGreaterThan(drainSeconds);
  expect(read('Dockerfile')).toContain('STOPSIGNAL SIGTERM');
});

it('every way to start sets the same memory options', () => {
  const starts = ['Dockerfile', 'deploy/offpeak.service', 'bin/offpeak', 'tools/install.mjs'].map(read);
  for (const text of starts) {
    expect(text).toMatch(/MALLOC_ARENA_MAX\W+(?:MALLOC_ARENA_MAX:-)?2\b/);
    expect(text).toMatch(/NODE_OPTIONS\W+--max-semi-space-size=16\b/);
  }
});

it('a checkout without its runtime passes an older Node no options that it may reject', () => {
  const folder = mkdtempSync(join(tmpdir(), 'offpeak-bin-'));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  const told = (path: string) => {
    mkdirSync(join(folder, path, '..'), { recursive: true });
    writeFileSync(join(folder, path), '#!/bin/sh\necho "options:$NODE_OPTIONS"\n', { mode: 0o755 });
    const env = { PATH: `${folder}/older:${process.env['PATH']}` };
    return execFileSync(join(folder, 'bin/offpeak'), { env, encoding: 'utf8' }).trim();
  };
  mkdirSync(join(folder, 'bin'));
  copyFileSync(join(root, 'bin/offpeak'), join(folder, 'bin/offpeak'));
  expect(told('older/node')).toBe('options:');
  expect(told('node_modules/node/bin/node')).toBe('options:--max-semi-space-size=16');
});

it('they use only settings that the server knows', async () => {
  const names = Object.values(compose.services)
    .flatMap(({ environment = {} }) => Object.keys(environment))
    .filter((name) => !/^(?:POSTGRES|AWS|ROOT)_/.test(name));
  expect(names.length).toBeGreaterThan(0);
  for (const name of names) expect(Object.keys(environmentKeys)).toContain(name);
  const { out } = await runCli(['serve', '--help']);
  const flags = [read('Dockerfile'), read('deploy/offpeak.service')].flatMap((text) => {
    const [, line] = /^(?:CMD|ExecStart=).*?(\["serve".*|offpeak serve.*)$/m.exec(text) ?? [];
    return line!.match(/--[a-z-]+/g)!;
  });
  expect(flags).toEqual(expect.arrayContaining(['--host', '--data']));
  for (const flag of flags) expect(out).toContain(flag);
});

it('the configuration of the containers is complete once its lines are uncommented', () => {
  const text = read('compose.yaml').replaceAll('# configs:', 'configs:');
  const { services, configs } = parse(text, { merge: true }) as {
    services: Record<string, { configs?: { source: string }[] }>;
    configs?: Record<string, unknown>;
  };
  const used = Object.values(services).flatMap((service) => service.configs ?? []);
  expect(new Set(used.map(({ source }) => source))).toEqual(new Set(Object.keys(configs ?? {})));
  expect(used.length).toBeGreaterThan(0);
});

it('the health check of the image asks the port that the environment sets', async () => {
  const [, command = ''] = /HEALTHCHECK[^]*?CMD (\[.*\])/.exec(read('Dockerfile')) ?? [];
  const [, ...args] = JSON.parse(command) as string[];
  const paths: (string | undefined)[] = [];
  const server = createServer(({ url }, response) => {
    paths.push(url);
    response.writeHead(paths.length === 1 ? 200 : 503).end();
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => void server.close());
  const { port } = server.address() as AddressInfo;
  const exit = (name: string) =>
    new Promise((resolve) => {
      execFile(process.execPath, args, { env: { [name]: `${port}` } }).on('exit', resolve);
    });
  expect([await exit('OFFPEAK_PORT'), await exit('PORT')]).toEqual([0, 1]);
  expect(paths).toEqual(['/readyz', '/readyz']);
});

it('every volume of a service is declared', () => {
  const used = Object.values(compose.services).flatMap(({ volumes = [] }) =>
    volumes.map((one) => one.split(':')[0]!),
  );
  expect([...new Set(used)].toSorted()).toEqual(Object.keys(compose.volumes).toSorted());
});

const hasSystemd = spawnSync('systemd-analyze', ['--version']).status === 0;
if (!hasSystemd)
  console.warn('SKIPPED: systemd-analyze is not here, so the unit of systemd is not verified.');

it.skipIf(!hasSystemd)('systemd finds no fault in the service', () => {
  expect(execFileSync('systemd-analyze', ['verify', join(root, 'deploy/offpeak.service')]).toString()).toBe(
    '',
  );
});

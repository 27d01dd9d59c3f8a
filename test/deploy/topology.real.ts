import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { connect, createServer, type Server } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { StaticKeys } from '../../src/core/bucket-keys.ts';
import { createApi } from '../support/api.ts';
import { chatLines, endings } from '../support/batch-lines.ts';
import { type ObjectStore, startObjectStore } from '../support/object-store.ts';
import { type PostgresServer, startPostgres } from '../support/postgres.ts';
import { until } from '../support/until.ts';
import { helmVersion, type Manifest, renderChart } from './chart.ts';

// The pods of the chart as processes, each in a network namespace of its own with the arguments, the environment and the
// configuration of its manifest. Only the orders of a cluster are missing: this file starts, stops and replaces them.

const main = fileURLToPath(new URL('../../src/main.ts', import.meta.url));
const host = '10.99.0.1';
const bridge = 'offpeak0';
const keys = { api: 'topology-api-0123456789-abcdefghijk', admin: 'topology-admin-0123456789-abcdefgh' };

const ip = (...args: string[]) => execFileSync('ip', args, { stdio: 'pipe' });

function problem(): string | undefined {
  if (helmVersion === undefined) return '"helm" is not on the PATH';
  try {
    ip('link', 'add', bridge, 'type', 'bridge');
  } catch {
    return 'network namespaces need root and ip';
  }
  return undefined;
}

const missing = problem();
if (missing) console.warn(`SKIPPED: the topology of the chart is not run: ${missing}`);

/** Forwards connections, because pods do not reach the loopback of the machine. */
async function forward(to: number): Promise<Server & { port: number }> {
  const server = createServer((socket) => {
    const other = connect(to, '127.0.0.1');
    socket.pipe(other).pipe(socket);
    for (const each of [socket, other]) each.on('error', () => void (socket.destroy(), other.destroy()));
  });
  server.listen(0, host);
  await once(server, 'listening');
  return Object.assign(server, { port: (server.address() as { port: number }).port });
}

describe.skipIf(missing)('the topology of the chart', () => {
  let folder: string;
  let postgres: PostgresServer;
  let store: ObjectStore;
  let forwarder: Server & { port: number };
  let manifests: Manifest[];
  let secrets: Record<string, string>;
  const pods = new Map<string, Pod>();
  let addresses = 1;

  interface Pod {
    role: string;
    url: string;
    process: ChildProcess;
    stderr: string;
    exited: Promise<unknown>;
  }

  beforeAll(async () => {
    ip('addr', 'add', `${host}/24`, 'dev', bridge);
    ip('link', 'set', bridge, 'up');
    folder = mkdtempSync(join(tmpdir(), 'offpeak-topology-'));
    const started = await startPostgres({
      settings: { listen_addresses: '*' },
      hba: ['host all all 10.99.0.0/24 trust'],
    });
    if ('reason' in started) throw new Error(started.reason);
    postgres = started;
    store = await startObjectStore();
    forwarder = await forward(Number(new URL(store.config.endpoint).port));
    const database = (await postgres.createDatabase()).replace(/127\.0\.0\.1|localhost/, host);
    secrets = { 'postgres/url': database, 'keys/api': keys.api, 'keys/admin': keys.admin };
    const { keys: storeKeys, region, bucket } = store.config;
    const { accessKey, secretKey } = storeKeys as StaticKeys;
    manifests = renderChart({
      database: { secret: { name: 'postgres' } },
      files: `s3://${bucket}/offpeak`,
      env: [
        ...['api', 'admin'].map((key) => ({
          name: `OFFPEAK_${key.toUpperCase()}_KEY`,
          valueFrom: { secretKeyRef: { name: 'keys', key } },
        })),
        { name: 'AWS_ACCESS_KEY_ID', value: accessKey },
        { name: 'AWS_SECRET_ACCESS_KEY', value: secretKey },
        { name: 'AWS_REGION', value: region },
      ],
      worker: { replicas: 2 },
      drainDelay: '2s',
      config: {
        s3: { endpoint: `http://${host}:${forwarder.port}`, path_style: true },
        models: [
          { id: 'tiny', aliases: ['default'], engine: { kind: 'scripted', slots: 16, delay: '100ms' } },
        ],
      },
    });
  });

  afterAll(async () => {
    for (const { process } of pods.values()) process.kill('SIGKILL');
    await Promise.all([...pods.values()].map(({ exited }) => exited));
    for (const name of pods.keys()) ip('netns', 'del', name);
    ip('link', 'del', bridge);
    forwarder?.close();
    await store?.close();
    await postgres?.stop();
    rmSync(folder, { recursive: true, force: true });
  });

  const named = (kind: string, end: string) =>
    manifests.find((each) => each.kind === kind && each.metadata.name.endsWith(end))!;

  /** Starts the container of a manifest. */
  function start(manifest: Manifest, role: string): Pod {
    addresses += 1;
    const [name, address] = [`offpeak-pod-${addresses}`, `10.99.0.${addresses}`];
    ip('netns', 'add', name);
    const wire = `offpeak${addresses}v`;
    ip('link', 'add', wire, 'type', 'veth', 'peer', 'name', 'eth0', 'netns', name);
    ip('link', 'set', wire, 'master', bridge, 'up');
    ip('-n', name, 'addr', 'add', `${address}/24`, 'dev', 'eth0');
    for (const device of ['eth0', 'lo']) ip('-n', name, 'link', 'set', device, 'up');
    const root = join(folder, name);
    mkdirSync(join(root, 'etc/offpeak'), { recursive: true });
    mkdirSync(join(root, 'data'));
    writeFileSync(join(root, 'etc/offpeak/offpeak.yaml'), named('ConfigMap', '').data['offpeak.yaml']);
    const { args, env } = manifest.spec.template.spec.containers[0] as { args: string[]; env: EnvVar[] };
    const own = env.map(({ name: variable, value, valueFrom }) => [
      variable,
      value ?? secrets[`${valueFrom!.secretKeyRef.name}/${valueFrom!.secretKeyRef.key}`]!,
    ]);
    const child = spawn(
      'ip',
      [
        'netns',
        'exec',
        name,
        process.execPath,
        main,
        ...args.map((arg) => arg.replace(/^\/(?=etc|data)/, `${root}/`)),
      ],
      { env: { PATH: process.env.PATH, ...Object.fromEntries(own) }, stdio: ['ignore', 'ignore', 'pipe'] },
    );
    const pod: Pod = {
      role,
      url: `http://${address}:8080`,
      process: child,
      stderr: '',
      exited: once(child, 'exit'),
    };
    child.stderr.on('data', (text: Buffer) => (pod.stderr += text.toString()));
    pods.set(name, pod);
    return pod;
  }

  interface EnvVar {
    name: string;
    value?: string;
    valueFrom?: { secretKeyRef: { name: string; key: string } };
  }

  const isReady = async ({ url }: Pod) =>
    (await fetch(`${url}/readyz`, { signal: AbortSignal.timeout(1_000) }).catch(() => undefined))?.ok ===
    true;
  const startReady = async (role: string) => {
    const pod = start(named('Deployment', role), role);
    await until(`${role} is ready`, () => isReady(pod));
    return pod;
  };

  it('migrates, then runs a batch through a kill and a rolling restart, and refuses no request', async () => {
    const job = start(named('Job', 'migrate'), 'migrate');
    await job.exited;
    expect([job.process.exitCode, job.stderr]).toEqual([0, expect.any(String)]);
    const running = await Promise.all(['api', 'api', 'worker', 'worker'].map(startReady));
    // The endpoints of the Service, as a cluster keeps them: ready pods of the role api, noticed once a second.
    let endpoints = running.filter(({ role }) => role === 'api');
    const refresh = setInterval(() => {
      void Promise.all(
        [...pods.values()].map(async (pod) => [pod, pod.role === 'api' && (await isReady(pod))] as const),
      ).then((all) => (endpoints = all.flatMap(([pod, ready]) => (ready ? [pod] : []))));
    }, 1_000);
    const statuses = new Map<number | string, number>();
    let asked = 0;
    const traffic = setInterval(() => {
      const { url } = endpoints[asked++ % endpoints.length]!;
      const body = JSON.stringify({ model: 'tiny', messages: [{ role: 'user', content: 'hi' }] });
      const headers = { authorization: `Bearer ${keys.api}`, 'content-type': 'application/json' };
      void fetch(`${url}/v1/chat/completions`, { method: 'POST', headers, body }).then(
        async (response) => (
          await response.text(),
          statuses.set(response.status, (statuses.get(response.status) ?? 0) + 1)
        ),
        (error: unknown) => statuses.set(String((error as Error).cause ?? error), 1),
      );
    }, 50);

    const lines = 3_000;
    const api = createApi(running[0]!.url, keys.api);
    const batch = await api.createBatch({ requests: chatLines(lines) });
    await until(
      'a tenth is done',
      async () => (await api.batch(batch.id)).request_counts.completed > lines / 10,
    );
    running[2]!.process.kill('SIGKILL');
    await startReady('worker');
    for (const old of running.filter((_, at) => at !== 2)) {
      await startReady(old.role);
      old.process.kill('SIGTERM');
      await old.exited;
      expect(old.process.exitCode).toBe(0);
    }
    const last = createApi(endpoints[0]!.url, keys.api);
    const { request_counts: counts } = await last.finished(batch.id);
    clearInterval(traffic);
    clearInterval(refresh);
    expect(counts).toEqual({ total: lines, completed: lines, failed: 0 });
    const output = await last.results(batch.id, 'output');
    expect(endings(output.text, '').distinct.size).toBe(lines);
    expect([...statuses.keys()]).toEqual([200]);
    expect(statuses.get(200)).toBeGreaterThan(100);
    // A worker serves probes alone.
    const worker = [...pods.values()].findLast(({ role }) => role === 'worker')!;
    expect(
      (await fetch(`${worker.url}/v1/models`, { headers: { authorization: `Bearer ${keys.api}` } })).status,
    ).toBe(404);
  });
});

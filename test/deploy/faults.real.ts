import { Client } from 'pg';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { StaticKeys } from '../../src/core/bucket-keys.ts';
import { type Api, createApi } from '../support/api.ts';
import { chatLines, endings, parseLines } from '../support/batch-lines.ts';
import { type CountingUpstream, startCountingUpstream } from '../support/counting-upstream.ts';
import { type ObjectStore, startObjectStore } from '../support/object-store.ts';
import { type PostgresServer, type Standby, startPostgres } from '../support/postgres.ts';
import { createSeededRandom } from '../support/seeded-random.ts';
import {
  adminKey,
  install,
  type Installation,
  type ServerProcess,
  upstreamYaml,
} from '../support/server-process.ts';
import { pause, until } from '../support/until.ts';

// Everything that fails in a data center, in one batch: processes are killed and paused, the database restarts and fails over,
// and the object store is away. `OFFPEAK_SEED` chooses another order of the faults.

const lines = 20_000;
const slots = 32;
const seed = Number(process.env['OFFPEAK_SEED'] ?? 1);
const takeoverMs = 45_000;
const roles = ['api', 'api', 'worker', 'worker', 'worker', 'worker'] as const;

interface Member {
  instance: string;
  role: (typeof roles)[number];
  server: ServerProcess;
  isPaused: boolean;
}

describe('a fleet of two api and four worker processes', () => {
  let postgres: PostgresServer;
  let standby: Standby;
  let store: ObjectStore;
  let upstream: CountingUpstream;
  let installation: Installation;
  let databases: string[];
  let env: Record<string, string>;
  const fleet: Member[] = [];
  let started = 0;

  beforeAll(async () => {
    const server = await startPostgres({ isDurable: true });
    if ('reason' in server) throw new Error(server.reason);
    postgres = server;
    const database = await postgres.createDatabase();
    standby = await postgres.addStandby();
    databases = [database, database.replace(/:\d+\//, `:${standby.port}/`)];
    // Nothing that the primary confirmed is lost in the failover.
    const client = new Client(database);
    await client.connect();
    await client.query("ALTER SYSTEM SET synchronous_standby_names = '*'");
    await client.query('SELECT pg_reload_conf()');
    await client.end();
    store = await startObjectStore();
    upstream = await startCountingUpstream({ delayMs: 200 });
    const { endpoint, bucket, region, keys } = store.config;
    const { accessKey, secretKey } = keys as StaticKeys;
    env = { AWS_ACCESS_KEY_ID: accessKey, AWS_SECRET_ACCESS_KEY: secretKey, AWS_REGION: region };
    const hosts = database.replace(/@([^/]+)/, `@$1,127.0.0.1:${standby.port}`);
    installation = install(
      upstreamYaml(upstream.url, {
        slots,
        engine: ', headers: { x-server: "${WHO}" }',
        more: `database: ${hosts}?target_session_attrs=read-write\nfiles: s3://${bucket}/offpeak\ns3: { endpoint: "${endpoint}", path_style: true }\nlimits: { requests_per_batch: ${lines} }\n`,
      }),
    );
    for (const role of roles) fleet.push(await join(role));
  });

  afterAll(async () => {
    for (const { server } of fleet) server.signal('SIGCONT');
    await installation?.remove();
    await upstream?.close();
    await store?.close();
    await standby?.stop();
    await postgres?.stop();
  });

  async function join(role: Member['role']): Promise<Member> {
    const name = `${role}-${++started}`;
    const folder = `${installation.data}-${name}`;
    const flags = ['--role', role, '--data', folder];
    const server = await installation.start({ env: { ...env, WHO: name }, flags });
    const { headers } = await server.api.send('/healthz');
    return { instance: headers.get('x-offpeak-instance')!, role, server, isPaused: false };
  }

  /** Client of an api process that runs. */
  const api = (): Api => fleet.find(({ role, isPaused }) => role === 'api' && !isPaused)!.server.api;

  /** Runs one statement on the primary, or else on the standby. */
  async function ask<Row extends object>(sql: string, values: unknown[]): Promise<Row[]> {
    for (const url of databases) {
      const client = new Client(url);
      client.on('error', () => {});
      try {
        await client.connect();
        return (await client.query<Row>(sql, values)).rows;
      } catch {
        // The next one.
      } finally {
        await client.end().catch(() => {});
      }
    }
    throw new Error('no database answers');
  }

  /** Times from a kill until nothing is leased to the killed process. */
  const takeovers: number[] = [];
  async function timeTakeover(instance: string): Promise<void> {
    const begun = performance.now();
    const leased = "SELECT 1 FROM batch_chunks WHERE state = 'leased' AND owner = $1 LIMIT 1";
    await until(
      `the chunks of ${instance} are taken over`,
      () =>
        ask(leased, [instance]).then(
          (rows) => rows.length === 0,
          () => false,
        ),
      { everyMs: 200 },
    );
    takeovers.push(performance.now() - begun);
  }

  const random = createSeededRandom(seed);
  const background: Promise<unknown>[] = [];
  const running = () => fleet.filter(({ isPaused }) => !isPaused);
  // One api process stays, so that the batch can be read.
  const victims = () => {
    const readers = running().filter(({ role }) => role === 'api');
    return running().filter(({ role }) => role === 'worker' || readers.length > 1);
  };

  const faults = {
    async kill() {
      const victim = random.pick(victims());
      fleet.splice(fleet.indexOf(victim), 1);
      await victim.server.end('SIGKILL');
      background.push(timeTakeover(victim.instance));
      fleet.push(await until('a process starts', () => join(victim.role).catch(() => undefined)));
    },
    async pause() {
      const victim = random.pick(victims());
      victim.isPaused = true;
      victim.server.signal('SIGSTOP');
      background.push(
        pause(60_000).then(() => {
          victim.server.signal('SIGCONT');
          victim.isPaused = false;
        }),
      );
    },
    restart: () => postgres.crash(),
    async failover() {
      await postgres.stop();
      await standby.promote();
    },
    async outage() {
      store.fault = () => ({ status: 503, code: 'ServiceUnavailable' });
      await pause(20_000);
      store.fault = () => undefined;
    },
  };

  function shuffled<T>(all: T[]): T[] {
    const left = [...all];
    return all.map(() => left.splice(random.int(0, left.length - 1), 1)[0]!);
  }

  it('ends every line once through kills, pauses, restarts, a failover and outages', async () => {
    const file = await api().upload(chatLines(lines));
    const { id } = await api().createBatch(file.id);
    const order = shuffled<keyof typeof faults>([
      ...Array<'kill'>(10).fill('kill'),
      ...Array<'pause'>(5).fill('pause'),
      ...Array<'restart'>(3).fill('restart'),
      ...Array<'outage'>(3).fill('outage'),
    ]);
    // The standby has no standby, so the failover comes after the last restart.
    order.splice(random.int(order.lastIndexOf('restart') + 1, order.length), 0, 'failover');
    const begun = performance.now();
    for (const [n, fault] of order.entries()) {
      const asked = (lines * (n + 1)) / (order.length + 2);
      await until(`${asked} lines were sent`, () => upstream.calls.size >= asked, { everyMs: 50 });
      const at = ((performance.now() - begun) / 1_000).toFixed(1);
      console.info(`${at} s, ${upstream.calls.size} lines sent: ${fault}`);
      await faults[fault]();
    }
    await Promise.all(background);
    const batch = await until('the batch ends', async () => {
      const found = await api()
        .batch(id)
        .catch(() => undefined);
      return found?.status === 'completed' && found;
    });
    expect(batch.request_counts).toEqual({ total: lines, completed: lines, failed: 0 });
    const output = (await api().results(id, 'output')).text;
    const { all, distinct } = endings(output, '');
    expect([all.length, distinct.size]).toEqual([lines, lines]);
    const tokens = parseLines(output).map(({ response }) => response!.body.usage.prompt_tokens);
    expect(batch.usage.input_tokens).toBe(tokens.reduce((sum, each) => sum + each));
    const usage = await createApi(fleet.find(({ role }) => role === 'api')!.server.url, adminKey).get<{
      total: { requests: number };
    }>('/v1/usage');
    expect(usage.total.requests).toBe(lines);
    const seconds = (performance.now() - begun) / 1_000;
    console.info(
      `${lines} lines in ${seconds.toFixed(0)} s, ${upstream.total() - lines} sent again, longest takeover ${Math.max(...takeovers).toFixed(0)} ms`,
    );
    expect(Math.max(...takeovers)).toBeLessThanOrEqual(takeoverMs);
  });
});

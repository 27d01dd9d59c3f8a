import { afterAll, afterEach, beforeEach, describe, expect, it, test } from 'vitest';
import { createApi, type Api, type BatchBody } from '../support/api.ts';
import { startApp, testModel, upstreamEngine, type RunningApp } from '../support/app.ts';
import { chatLines } from '../support/batch-lines.ts';
import { complete, startFakeUpstream, type FakeUpstream } from '../support/fake-upstream.ts';
import { startPostgres, type PostgresServer } from '../support/postgres.ts';
import { adminKey, install, type Installation } from '../support/server-process.ts';
import { until } from '../support/until.ts';

// Pauses and drains of an operator: on two processes, after a crash and after a change of the configuration.

interface Replica {
  id: string;
  server: string;
  health: string | null;
  in_flight: number;
  drained_at: string | null;
  cap: number | null;
}

interface Process {
  id: string;
  is_self: boolean;
  state: string;
  in_flight: { batch_lines: number };
  leases: { chunks: number };
}

const replicasOf = async (admin: Api) =>
  (await admin.get<{ data: Replica[] }>('/v1/admin/replicas')).data.toSorted((a, b) =>
    a.server < b.server ? -1 : 1,
  );
/** Number of requests that a server received. */
const asked = ({ received }: FakeUpstream) =>
  received.filter(({ path }) => path.endsWith('/chat/completions')).length;
const waitingOf = (batch: BatchBody) => batch.waiting?.reason ?? null;

const postgres = await startPostgres();
if ('reason' in postgres) test.skip(`operators on Postgres (skipped: ${postgres.reason})`, () => {});
else {
  afterAll(() => postgres.stop());
  postgresTests(postgres);
}

function postgresTests(server: PostgresServer): void {
  describe('on two processes', () => {
    let upstreams: FakeUpstream[];
    let held: (() => void)[];
    let a: RunningApp;
    let b: RunningApp;
    let operator: Api;

    beforeEach(async () => {
      held = [];
      upstreams = [];
      for (let n = 0; n < 2; n++) upstreams.push(await startFakeUpstream(complete('ok')));
      const database = await server.createDatabase();
      const engine = upstreamEngine(upstreams[0]!.url, 2);
      const [first] = engine.replicas;
      const replicas = upstreams.map(({ url }) => ({ ...first!, url }));
      const options = { database, adminKey, models: [testModel({ ...engine, replicas })] };
      a = await startApp(options);
      b = await startApp({ ...options, beside: a });
      operator = createApi(b.url, adminKey);
    });
    afterEach(async () => {
      release();
      await b.stop();
      await a.stop();
      for (const upstream of upstreams) await upstream.close();
    });

    const hold = () => {
      for (const upstream of upstreams)
        upstream.answer = (response, sent) => void held.push(() => complete('ok')(response, sent));
    };
    const release = () => {
      for (const upstream of upstreams) upstream.answer = complete('ok');
      for (const answer of held.splice(0)) answer();
    };

    it('both list both processes, with the lines that each runs and the chunks that it holds', async () => {
      hold();
      const { id: batch } = await a.api.createBatch({ requests: chatLines(60) });
      const list = async (url: string) => {
        const { data } = await createApi(url, adminKey).get<{ data: Process[] }>('/v1/admin/processes');
        return data;
      };
      // The figures of the other process are as old as its last heartbeat.
      const seen = await until('lines are in flight', async () => {
        const all = await list(b.url);
        return all.some(({ in_flight: { batch_lines: lines } }) => lines > 0) ? all : undefined;
      });
      expect(seen).toHaveLength(2);
      expect(seen.map(({ state }) => state)).toEqual(['alive', 'alive']);
      expect(seen.filter(({ is_self: isSelf }) => isSelf)).toHaveLength(1);
      expect((await list(a.url)).map(({ id }) => id)).toEqual(seen.map(({ id }) => id));
      expect(seen.reduce((sum, { leases }) => sum + leases.chunks, 0)).toBeGreaterThan(0);
      release();
      expect(await a.api.finished(batch)).toMatchObject({ request_counts: { completed: 60, failed: 0 } });
    });

    it('a pause on one stops the lines of both, and lines in flight finish', async () => {
      hold();
      const { id } = await a.api.createBatch({ requests: chatLines(60) });
      await until('lines are in flight', () => held.length >= 4);
      await operator.post('/v1/admin/pause', { model: 'tiny' });
      await until('both report it', async () => {
        const views = await Promise.all([a, b].map(({ api }) => api.batch(id)));
        return views.every((view) => waitingOf(view) === 'paused');
      });
      const sent = held.length;
      release();
      await until('nothing is leased', async () => (await a.api.batch(id)).progress.running === 0);
      const { status, request_counts: counts } = await a.api.batch(id);
      expect([status, counts.completed]).toEqual(['in_progress', sent]);
      // Single requests are not paused.
      const chat = { model: 'tiny', messages: [{ role: 'user', content: 'Hello?' }] };
      for (const { api } of [a, b])
        expect((await api.send('/v1/chat/completions', { json: chat })).status).toBe(200);
      await createApi(a.url, adminKey).post('/v1/admin/resume', { everything: true });
      expect(await b.api.finished(id)).toMatchObject({ request_counts: { completed: 60, failed: 0 } });
    });

    it('a cap on one holds the requests of both, and its end frees the slots', async () => {
      const all = await replicasOf(operator);
      const other = createApi(a.url, adminKey);
      const slotsOf = async (api: Api) => (await replicasOf(api)).map(({ cap }) => cap);
      for (const { id } of all) await operator.post(`/v1/admin/replicas/${id}/cap`, { max_in_flight: 1 });
      await until('the other process follows', async () => (await slotsOf(other)).every((cap) => cap === 1));
      let most = 0;
      for (const upstream of upstreams)
        upstream.answer = (response, sent) => {
          held.push(() => complete('ok')(response, sent));
          most = Math.max(most, held.length);
        };
      const { id } = await a.api.createBatch({ requests: chatLines(20) });
      for (let left = 20; left > 0; left--) {
        await until('both servers have a request', () => held.length === Math.min(left, 2));
        held.shift()!();
      }
      expect(await a.api.finished(id)).toMatchObject({ request_counts: { completed: 20, failed: 0 } });
      // One at each of the two servers.
      expect(most).toBe(2);
      for (const { id: capped } of all) await other.post(`/v1/admin/replicas/${capped}/uncap`, {});
      await until('both use all slots', async () =>
        [...(await slotsOf(other)), ...(await slotsOf(operator))].every((cap) => cap === null),
      );
    });

    it('a drain on one keeps the requests of both from the server', async () => {
      const [first, second] = await replicasOf(operator);
      expect(await replicasOf(createApi(a.url, adminKey))).toEqual([first, second]);
      await operator.post(`/v1/admin/replicas/${first!.id}/drain`, {});
      await until('the other process follows', async () => {
        const [seen] = await replicasOf(createApi(a.url, adminKey));
        return seen!.health === 'draining' && seen!.drained_at !== null;
      });
      const url = (upstream: FakeUpstream) => first!.server.includes(new URL(upstream.url).host);
      const drained = upstreams.find(url)!;
      const other = upstreams.find((upstream) => !url(upstream))!;
      const before = asked(drained);
      const { id } = await a.api.createBatch({ requests: chatLines(40) });
      expect(await a.api.finished(id)).toMatchObject({ request_counts: { completed: 40, failed: 0 } });
      expect(asked(drained)).toBe(before);
      expect(asked(other)).toBeGreaterThanOrEqual(40);
      await createApi(a.url, adminKey).post(`/v1/admin/replicas/${first!.id}/undrain`, {});
      await until('the drained server gets requests again', async () => {
        const next = await b.api.createBatch({ requests: chatLines(20) });
        await b.api.finished(next.id);
        return asked(drained) > before;
      });
    });
  });
}

describe('after a crash', () => {
  let installation: Installation;
  let upstreams: FakeUpstream[];

  beforeEach(async () => {
    upstreams = [];
    for (let n = 0; n < 2; n++) upstreams.push(await startFakeUpstream(complete('ok')));
  });
  afterEach(async () => {
    await installation.remove();
    for (const upstream of upstreams) await upstream.close();
  });

  const yaml = (urls: readonly string[]) => `models:
  - id: tiny
    engine: { kind: openai, flavor: openai, urls: [${urls.map((url) => `{ url: "${url}" }`).join(', ')}], model: real-name, slots: 2 }
    serves: [chat]
    price: { input: 0.10, cached_input: 0.025, output: 0.40 }
`;

  it('a pause and a drain are in force from the start on, and after a reload of the configuration', async () => {
    const urls = upstreams.map(({ url }) => url);
    installation = install(yaml(urls));
    let server = await installation.start();
    let operator = createApi(server.url, adminKey);
    const { id: drained } = (await replicasOf(operator))[0]!;
    const upstream = upstreams.toSorted((x, y) => (x.url < y.url ? -1 : 1))[0]!;
    await operator.post(`/v1/admin/replicas/${drained}/drain`, {});
    await operator.post('/v1/admin/pause', { everything: true });
    const { id } = await server.api.createBatch({ requests: chatLines(30) });
    await server.end('SIGKILL');

    server = await installation.start({ flags: ['--log-level', 'info'] });
    operator = createApi(server.url, adminKey);
    expect(waitingOf(await server.api.batch(id))).toBe('paused');
    const healths = async () => (await replicasOf(operator)).map(({ health }) => health);
    expect(await healths()).toEqual(['draining', 'up']);
    for (const change of [yaml(urls.toReversed()), yaml(urls)]) {
      installation.configure(change);
      const seen = server.stderr().length;
      server.signal('SIGHUP');
      await until('it is read', () =>
        server.stderr().slice(seen).includes('The configuration was read again.'),
      );
      expect(await healths()).toEqual(['draining', 'up']);
    }
    expect((await server.api.batch(id)).request_counts.completed).toBe(0);
    const before = asked(upstream);
    await operator.post('/v1/admin/resume', { everything: true });
    expect(await server.api.finished(id)).toMatchObject({ request_counts: { completed: 30, failed: 0 } });
    expect(asked(upstream)).toBe(before);
  });

  it('a server that the configuration drops and lists again stays drained', async () => {
    const urls = upstreams.map(({ url }) => url).toSorted();
    installation = install(yaml(urls));
    const server = await installation.start({ flags: ['--log-level', 'info'] });
    const operator = createApi(server.url, adminKey);
    const { id } = (await replicasOf(operator))[0]!;
    await operator.post(`/v1/admin/replicas/${id}/drain`, {});
    const reload = async (listed: readonly string[]) => {
      installation.configure(yaml(listed));
      const seen = server.stderr().length;
      server.signal('SIGHUP');
      await until('it is read', () =>
        server.stderr().slice(seen).includes('The configuration was read again.'),
      );
      return replicasOf(operator);
    };
    expect(await reload(urls.slice(1))).toMatchObject([{ id, health: null }, { health: 'up' }]);
    expect(await reload(urls)).toMatchObject([{ id, health: 'draining' }, { health: 'up' }]);
  });
});

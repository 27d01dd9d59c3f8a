import { Client } from 'pg';
import { afterAll, afterEach, beforeEach, expect, it, test } from 'vitest';
import type { AuditEntry } from '../../src/core/audit.ts';
import { createAuditCheck } from '../../src/core/audit-chain.ts';
import { type RunningApp, startApp, testModel, upstreamEngine } from '../support/app.ts';
import { chatLines } from '../support/batch-lines.ts';
import { complete, type FakeUpstream, startFakeUpstream } from '../support/fake-upstream.ts';
import { type PostgresServer, startPostgres } from '../support/postgres.ts';
import { until } from '../support/until.ts';

// Orgs and keys of two processes on one database: what one changes is in force on the other.

const postgres = await startPostgres();

if ('reason' in postgres) test.skip(`accounts of a fleet (skipped: ${postgres.reason})`, () => {});
else {
  afterAll(() => postgres.stop());
  fleetTests(postgres);
}

interface Body {
  id: string;
  key: string;
  waiting: { reason: string } | null;
  at_risk: boolean;
  status: string;
  progress: { running: number };
  request_counts: { total: number; completed: number; failed: number };
  data: AuditEntry[];
}

function fleetTests(server: PostgresServer): void {
  let upstream: FakeUpstream;
  let a: RunningApp;
  let b: RunningApp;
  let adminKey: string;
  let database: string;

  beforeEach(async () => {
    upstream = await startFakeUpstream(complete('ok'));
    database = await server.createDatabase();
    const options = {
      database,
      models: [testModel(upstreamEngine(upstream.url, 2))],
    };
    a = await startApp(options);
    b = await startApp({ ...options, beside: a });
    adminKey = a.app.firstKeys!.adminKey!;
  });
  afterEach(async () => {
    await b.stop();
    await a.stop();
    await upstream.close();
  });

  async function call(at: RunningApp, key: string, method: string, path: string, json?: object) {
    const response = await fetch(at.url + path, {
      method,
      headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
      ...(json && { body: JSON.stringify(json) }),
    });
    return { status: response.status, json: (await response.json()) as Body };
  }
  const admin = (at: RunningApp, method: string, path: string, json?: object) =>
    call(at, adminKey, method, `/v1/admin/${path}`, json);

  /** Rows of the database of both. */
  async function ask<Row extends object>(sql: string, values: string[] = []): Promise<Row[]> {
    const client = new Client({ connectionString: database });
    await client.connect();
    try {
      return (await client.query<Row>(sql, values)).rows;
    } finally {
      await client.end();
    }
  }

  /** Waits until the other process answers a key with this status. */
  const seen = (key: string, status: number) =>
    until(`status ${status}`, async () => (await call(b, key, 'GET', '/v1/files')).status === status);

  it('refuses a disabled, a revoked and a rotated key on the other process', async () => {
    const { id, key } = (await admin(a, 'POST', 'keys', { org_id: 'default' })).json;
    await seen(key, 200);
    await admin(a, 'PATCH', `keys/${id}`, { disabled: true });
    await seen(key, 401);
    await admin(a, 'PATCH', `keys/${id}`, { disabled: false });
    await seen(key, 200);
    await admin(a, 'PATCH', `keys/${id}`, { scopes: ['usage'] });
    await seen(key, 403);
    const next = (await admin(a, 'POST', `keys/${id}/rotate`, {})).json;
    await seen(key, 401);
    await seen(next.key, 403);
    await admin(a, 'DELETE', `keys/${next.id}`);
    await seen(next.key, 401);
  });

  it('keeps the batch of a disabled org waiting on both, and finishes it when the org is enabled', async () => {
    const held: (() => void)[] = [];
    upstream.answer = (response, asked) => void held.push(() => complete('ok')(response, asked));
    await admin(a, 'POST', 'orgs', { name: 'second' });
    const { key } = (await admin(b, 'POST', 'keys', { org_id: 'second' })).json;
    const body = { endpoint: '/v1/chat/completions', completion_window: '24h', requests: chatLines(30) };
    const { id } = (await call(a, key, 'POST', '/v1/batches', body)).json;
    await until('some lines are in flight', () => held.length >= 2);
    await admin(a, 'PATCH', 'orgs/second', { disabled: true });
    await seen(key, 403);
    const waits = async (at: RunningApp) => {
      const { waiting, at_risk } = (await admin(at, 'GET', `batches/${id}`)).json;
      return waiting?.reason === 'org_disabled' && !at_risk;
    };
    await until('both say that it waits', async () => (await waits(a)) && waits(b));
    // The lines in flight end, and no others are sent.
    await until('nothing runs', async () => {
      for (const answer of held.splice(0)) answer();
      return (await admin(b, 'GET', `batches/${id}`)).json.progress.running === 0;
    });
    const { completed } = (await admin(a, 'GET', `batches/${id}`)).json.request_counts;
    expect(completed).toBeLessThan(30);
    const sent = upstream.received.length;
    await until('both have looked for work', async () => (await waits(a)) && waits(b));
    expect(upstream.received.length).toBe(sent);
    upstream.answer = complete('ok');
    await admin(b, 'PATCH', 'orgs/second', { disabled: false });
    await until('it is completed', async () => {
      for (const answer of held.splice(0)) answer();
      return (await admin(a, 'GET', `batches/${id}`)).json.status === 'completed';
    });
    expect((await admin(b, 'GET', `batches/${id}`)).json.request_counts).toEqual({
      total: 30,
      completed: 30,
      failed: 0,
    });
  });

  it('holds the budget of a rotated key on both, for its successor and its waiting batch, without claiming it again and again', async () => {
    const budget = { amount: '0.000000001', period: 'total' };
    const old = (await admin(a, 'POST', 'keys', { org_id: 'default', budget })).json;
    // The other process knows the budget from here on.
    await admin(b, 'GET', `keys/${old.id}`);
    const body = { endpoint: '/v1/chat/completions', completion_window: '24h', requests: chatLines(30) };
    const { id } = (await call(a, old.key, 'POST', '/v1/batches', body)).json;
    const batchAt = async (at: RunningApp) => (await admin(at, 'GET', `batches/${id}`)).json;
    const waits = async (at: RunningApp) => {
      const { waiting, progress } = await batchAt(at);
      return waiting?.reason === 'budget' && progress.running === 0;
    };
    await until('both say that it waits', async () => (await waits(a)) && waits(b));
    // One line of each process was in flight.
    const sent = upstream.received.length;
    expect([1, 2]).toContain(sent);

    const next = (await admin(a, 'POST', `keys/${old.id}/rotate`, {})).json;
    const chat = { model: 'tiny', messages: [{ role: 'user', content: 'hi' }] };
    for (const at of [b, a]) {
      expect((await call(at, next.key, 'POST', '/v1/chat/completions', chat)).status).toBe(402);
      expect((await call(at, next.key, 'POST', '/v1/batches', body)).status).toBe(402);
    }
    const claims = async () =>
      (await ask<{ n: string }>('SELECT sum(epoch) AS n FROM batch_chunks WHERE batch_id = $1', [id]))[0]!.n;
    const beats = async () =>
      (await ask<{ at: string }>('SELECT beat_at AS at FROM workers ORDER BY id')).map((row) => row.at);
    const [claimed, beaten] = [await claims(), await beats()];
    // A heartbeat comes every ten seconds, a look for work several times in between.
    await until('both have looked for work for a while', async () =>
      (await beats()).every((at, n) => Number(at) > Number(beaten[n])),
    );
    expect([await claims(), upstream.received.length]).toEqual([claimed, sent]);

    await admin(b, 'PATCH', `keys/${next.id}`, { budget: { amount: '1000', period: 'total' } });
    await until('it is completed', async () => (await batchAt(a)).status === 'completed');
    expect((await batchAt(b)).request_counts).toEqual({ total: 30, completed: 30, failed: 0 });
    expect((await call(b, next.key, 'POST', '/v1/chat/completions', chat)).status).toBe(200);
  });

  it('C23: concurrent changes on both are one audit chain', async () => {
    await Promise.all(
      Array.from({ length: 40 }, (_, n) => admin(n % 2 ? a : b, 'POST', 'orgs', { name: `org ${n}` })),
    );
    const { data } = (await admin(b, 'GET', 'audit?order=asc&limit=1000')).json;
    const check = createAuditCheck();
    for (const entry of data) check.add(entry);
    expect(check.end()).toBeUndefined();
    expect(data.filter(({ action }) => action === 'org.create')).toHaveLength(41);
  });
}

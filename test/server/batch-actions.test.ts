import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { chatLine } from './support/jsonl.ts';
import { type Json, type RunningServer, startServer } from './support/start-server.ts';

let app: RunningServer;
beforeAll(async () => void (app = await startServer()));
afterAll(() => app.stop());

const act = (json: object, headers = {}, key = app.keys.a) =>
  app.call('POST', '/v1/batches/actions', { json, headers, key });
const actAsOperator = (json: object) =>
  app.call('POST', '/v1/admin/batches/actions', { json, key: app.keys.admin });
const get = async (id: string, key = app.keys.a): Promise<Json> =>
  (await app.call('GET', `/v1/batches/${id}`, { key })).json;

/** Batch with a name in its metadata, whose lines hang. */
async function open(name: string, content = '[[hang]]', key = app.keys.a): Promise<string> {
  const json = {
    endpoint: '/v1/chat/completions',
    completion_window: '24h',
    requests: [chatLine(0, 'tiny', content)],
    metadata: { name },
  };
  return (await app.call('POST', '/v1/batches', { json, key })).json.id;
}

async function ended(path: string, key = app.keys.a): Promise<Json> {
  const read = async () => (await app.call('GET', path, { key })).json;
  await expect.poll(async () => (await read()).status).not.toBe('running');
  return read();
}

describe('POST /v1/batches/actions', () => {
  it('counts in a dry run, and then acts on each batch that matches', async () => {
    const ids = [await open('many one'), await open('many two'), await open('other')];
    await app.call('POST', `/v1/batches/${ids[1]}/pause`);
    const asked = { action: 'pause', filter: { q: 'many', status: 'in_progress' } };
    await expect.poll(async () => (await get(ids[0]!)).status).toBe('in_progress');
    await expect.poll(async () => (await get(ids[1]!)).status).toBe('in_progress');
    const preview = await act({ ...asked, dry_run: true });
    expect([preview.status, preview.json]).toEqual([
      200,
      {
        object: 'batch_action.preview',
        action: 'pause',
        matched: 2,
        changes: 1,
        requests: 1,
        skipped: [{ reason: 'already_paused', count: 1 }],
      },
    ]);
    const { status, json } = await act(asked);
    expect([status, json.status, json.total]).toEqual([201, 'running', 2]);
    expect(await ended(`/v1/batches/actions/${json.id}`)).toMatchObject({
      status: 'completed',
      total: 2,
      done: 1,
      skipped: 1,
      failed: 0,
      failures: [],
      ended_at: expect.any(String),
    });
    expect((await get(ids[0]!)).waiting.reason).toBe('paused');
    expect((await get(ids[2]!)).waiting).toBeNull();
    const cancelled = await act({ action: 'cancel', ids: [...ids, `batch_${'0'.repeat(32)}`] });
    expect(await ended(`/v1/batches/actions/${cancelled.json.id}`)).toMatchObject({ done: 3, skipped: 1 });
  });

  it('retries by code once, however often it is sent', async () => {
    const id = await open('flaky', `${Math.random()} [[fail 400 1]]`);
    await expect.poll(async () => (await get(id)).status).toBe('completed');
    const asked = { action: 'retry', ids: [id], codes: ['request_refused'] };
    const headers = { 'idempotency-key': 'act-1' };
    const first = await act(asked, headers);
    const again = await act(asked, headers);
    expect([again.json.id, again.headers.get('idempotent-replayed')]).toEqual([first.json.id, 'true']);
    expect((await act({ ...asked, codes: ['x'] }, headers)).json.error.code).toBe('idempotency_mismatch');
    expect(await ended(`/v1/batches/actions/${first.json.id}`)).toMatchObject({ done: 1 });
    const { data } = (await app.call('GET', '/v1/batches?limit=100')).json;
    expect(data.filter((batch: Json) => batch.retry_of === id)).toHaveLength(1);
  });

  it('can be stopped, and shows its failures', async () => {
    const { json } = await act({ action: 'pause', filter: { q: 'nothing-has-this' } });
    expect(await ended(`/v1/batches/actions/${json.id}`)).toMatchObject({ status: 'completed', total: 0 });
    const stopped = await app.call('POST', `/v1/batches/actions/${json.id}/cancel`);
    expect([stopped.status, stopped.json.status]).toEqual([200, 'completed']);
  });

  it('reaches no batch of another org', async () => {
    const id = await open('mine');
    const foreign = await act({ action: 'cancel', ids: [id] }, {}, app.keys.b);
    expect(await ended(`/v1/batches/actions/${foreign.json.id}`, app.keys.b)).toMatchObject({
      done: 0,
      skipped: 1,
    });
    expect((await app.call('GET', `/v1/batches/actions/${foreign.json.id}`)).status).toBe(404);
    const all = await act({ action: 'pause', filter: {} }, {}, app.keys.b);
    await ended(`/v1/batches/actions/${all.json.id}`, app.keys.b);
    expect((await get(id)).waiting?.reason).not.toBe('paused');
    await app.call('POST', `/v1/batches/${id}/cancel`);
  });

  it.each([
    [{ action: 'pause' }, 'ids'],
    [{ action: 'pause', ids: ['a'], filter: {} }, 'filter'],
    [{ action: 'pause', ids: [] }, 'ids'],
    [{ action: 'explode', ids: ['a'] }, 'action'],
    [{ action: 'priority', ids: ['a'], priority: 3 }, 'priority'],
    [{ action: 'pause', ids: ['a'], codes: ['x'] }, 'codes'],
    [{ action: 'pause', filter: { org: 'default' } }, 'filter.org'],
    [{ action: 'pause', filter: { created_after: 'soon' } }, 'created_after'],
  ])('422: %j', async (json, param) => {
    const answer = await act(json);
    expect([answer.status, answer.json.error.param]).toEqual([422, param]);
  });
});

describe('POST /v1/admin/batches/actions', () => {
  it('acts on batches of an org, with an entry of the audit log for each', async () => {
    const id = await open('audited');
    const preview = await actAsOperator({ action: 'priority', priority: 8, ids: [id], dry_run: true });
    expect(preview.json).toMatchObject({ matched: 1, changes: 1 });
    const { json } = await actAsOperator({
      action: 'priority',
      priority: 8,
      filter: { org: 'default', q: 'audited' },
    });
    const path = `/v1/admin/batches/actions/${json.id}`;
    expect(await ended(path, app.keys.admin)).toMatchObject({ done: 1, priority: 8 });
    expect((await get(id)).priority).toBe(8);
    expect((await app.call('GET', `/v1/batches/actions/${json.id}`)).status).toBe(404);
    const audit = await app.call('GET', `/v1/admin/audit?target=${id}`, { key: app.keys.admin });
    expect(audit.json.data).toMatchObject([
      { action: 'batch.update', before: { priority: 5 }, after: { priority: 8 } },
    ]);
    expect((await actAsOperator({ action: 'pause', filter: { org: 'nowhere' } })).status).toBe(422);
    await app.call('POST', `/v1/batches/${id}/cancel`);
  });
});

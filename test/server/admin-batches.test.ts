import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { until } from '../support/until.ts';
import { chatLine } from './support/jsonl.ts';
import { type RunningServer, startServer } from './support/start-server.ts';

let app: RunningServer;
let ofA: string[];
let ofB: string;
/** A batch of org B with failed requests. */
let failed: string;
const line = (n: number, content = 'Hello?') => chatLine(n, 'default', content);

const admin = (method: string, path: string, json?: unknown) =>
  app.call(method, `/v1/admin/batches${path}`, { key: app.keys.admin, ...(json !== undefined && { json }) });
const create = async (key: string, requests: object[]): Promise<string> => {
  const json = { endpoint: '/v1/chat/completions', completion_window: '24h', requests };
  return (await app.call('POST', '/v1/batches', { key, json })).json.id;
};
const ids = async (query: string): Promise<string[]> =>
  (await admin('GET', query)).json.data.map(({ id }: { id: string }) => id);
const statusOf = async (id: string) => (await admin('GET', `/${id}`)).json.status;

beforeAll(async () => {
  app = await startServer();
  failed = await create(app.keys.b, [line(0, '[[fail 400]]'), line(1)]);
  await until('the first has ended', async () => (await statusOf(failed)) === 'completed');
  await app.call('POST', '/v1/admin/pause', { key: app.keys.admin, json: { org: 'default' } });
  ofA = [await create(app.keys.a, [line(0)]), await create(app.keys.a, [line(0)])];
  ofB = await create(app.keys.b, [line(0)]);
  await until('the others have ended', async () => (await statusOf(ofB)) === 'completed');
});
afterAll(() => app.stop());

describe('the list of all batches', () => {
  it('200: has those of every org, newest first, with the id and name of the org', async () => {
    const { status, json } = await admin('GET', '');
    expect(status).toBe(200);
    expect(json.data.map(({ id, org }: Record<string, string>) => [id, org])).toEqual([
      [ofB, 'second'],
      [ofA[1], 'default'],
      [ofA[0], 'default'],
      [failed, 'second'],
    ]);
    expect(json.data[0]).toMatchObject({ object: 'batch', org_id: expect.stringMatching(/^org_/) });
    expect(json).toMatchObject({ object: 'list', first_id: ofB, last_id: failed, has_more: false });
    const first = (await admin('GET', '?limit=3')).json;
    expect([first.data.length, first.has_more]).toEqual([3, true]);
    expect(await ids(`?limit=3&after=${first.last_id}`)).toEqual([failed]);
    expect(await ids('?order=asc&limit=2')).toEqual([failed, ofA[0]]);
  });

  it('200: filters by org, status, model, time, wait and risk, and by several of them', async () => {
    const orgId = (await admin('GET', `/${ofB}`)).json.org_id;
    expect(await ids('?org=second')).toEqual([ofB, failed]);
    expect(await ids(`?org=${orgId}&limit=1`)).toEqual([ofB]);
    expect(await ids('?status=completed')).toEqual([ofB, failed]);
    expect(await ids('?model=default')).toHaveLength(4);
    expect(await ids('?model=tiny&status=completed&org=default')).toEqual([]);
    expect(await ids('?model=gone')).toEqual([]);
    expect(await ids('?waiting=any')).toEqual(ofA.toReversed());
    expect(await ids('?waiting=paused&order=asc&limit=1')).toEqual([ofA[0]]);
    expect(await ids('?waiting=paused&org=second')).toEqual([]);
    expect(await ids('?waiting=budget')).toEqual([]);
    expect(await ids('?waiting=crash_suspected')).toEqual([]);
    expect(await ids('?waiting=any&status=completed')).toEqual([]);
    expect(await ids('?at_risk=true')).toEqual([]);
    expect(await ids('?at_risk=false')).toHaveLength(4);
    expect(await ids('?created_after=2100-01-01T00:00:00Z')).toEqual([]);
    expect(await ids('?created_before=2100-01-01T00:00:00Z&created_after=2000-01-01T00:00:00Z')).toHaveLength(
      4,
    );
  });

  it('200: is counted by state, of every org, of one, and of the own one', async () => {
    const none = { in_progress: 0, cancelling: 0, failed: 0, cancelled: 0, expired: 0 };
    const own = await app.call('GET', '/v1/batches/counts', { key: app.keys.a });
    expect([own.status, own.json]).toEqual([
      200,
      { object: 'batch.counts', max: 10_000, counts: { ...none, validating: 2, completed: 0 } },
    ]);
    const countsOf = async (query: string) => (await admin('GET', `/counts${query}`)).json.counts;
    expect(await countsOf('')).toEqual({ ...none, validating: 2, completed: 2 });
    expect(await countsOf('?org=second')).toEqual({ ...none, validating: 0, completed: 2 });
    expect((await admin('GET', '/counts?org=nobody')).status).toBe(422);
    expect((await admin('GET', '/counts?model=tiny')).status).toBe(422);
    expect((await app.call('GET', '/v1/batches/counts?org=second', { key: app.keys.a })).status).toBe(422);
  });

  it('200: searches in ids, file names and metadata', async () => {
    expect(await ids(`?q=${ofB.slice(-10)}`)).toEqual([ofB]);
    expect(await ids(`?q=${ofB}&org=default`)).toEqual([]);
    expect(await ids('?q=batch_&limit=2')).toEqual([ofB, ofA[1]]);
    expect(await ids('?q=batch_&waiting=paused&order=asc')).toEqual(ofA);
    expect(await ids('?q=nothing')).toEqual([]);
  });

  it('422: rejects unknown filters and values', async () => {
    for (const query of [
      'waiting=bored',
      'at_risk=maybe',
      'org=nowhere',
      'created_before=soon',
      'owner=x',
      `q=${'x'.repeat(201)}`,
      'q=a+b+c+d+e+f+g+h+i',
    ])
      expect((await admin('GET', `?${query}`)).json.error.param).toBe(query.split('=')[0]);
  });
});

describe('a batch of any org', () => {
  const auditOf = async (id: string) => {
    const { data } = (await app.call('GET', `/v1/admin/audit?target=${id}`, { key: app.keys.admin })).json;
    return data.map(({ action, before, after }: Record<string, unknown>) => [action, before, after]);
  };

  it('200: is paused, resumed and cancelled as by its org, and each change is in the audit log', async () => {
    const [id] = ofA as [string];
    expect((await admin('POST', `/${id}/pause`)).json).toMatchObject({
      org: 'default',
      waiting: { reason: 'paused', message: 'The batch is paused until it is resumed.' },
    });
    await admin('POST', `/${id}/pause`);
    await admin('POST', `/${id}/resume`);
    expect((await admin('POST', `/${id}/cancel`)).json).toMatchObject({ id, status: 'cancelling' });
    await expect.poll(() => statusOf(id)).toBe('cancelled');
    expect((await app.call('GET', `/v1/batches/${id}`, {})).json.status).toBe('cancelled');
    expect(await auditOf(id)).toEqual([
      ['batch.cancel', { status: 'validating' }, { status: 'cancelling' }],
      ['batch.resume', { paused: true }, { paused: false }],
      ['batch.pause', { paused: false }, { paused: true }],
    ]);
    const { status, json } = await admin('POST', `/${ofB}/pause`);
    expect([status, json.error.code]).toEqual([409, 'batch_not_pausable']);
  });

  it('200: gets another priority, within the bounds', async () => {
    const [, id] = ofA as [string, string];
    expect((await admin('PATCH', `/${id}`, { priority: 9 })).json).toMatchObject({ id, priority: 9 });
    expect((await app.call('GET', `/v1/batches/${id}`, {})).json.priority).toBe(9);
    await admin('PATCH', `/${id}`, { priority: 9 });
    expect(await auditOf(id)).toEqual([['batch.update', { priority: 5 }, { priority: 9 }]]);
    for (const json of [{ priority: 10 }, { priority: '5' }, {}, { priority: 1, due: 0 }])
      expect((await admin('PATCH', `/${id}`, json)).status).toBe(422);
    const { status, json } = await admin('PATCH', `/${ofB}`, { priority: 1 });
    expect([status, json.error.code, json.error.message]).toEqual([
      409,
      'batch_not_changeable',
      'The batch is completed and can no longer be changed.',
    ]);
  });

  it('201: is retried for its org, with its key, at its cost, and once for repeated requests', async () => {
    const { status, json } = await admin('POST', `/${failed}/retry`);
    expect(status).toBe(201);
    expect(json).toMatchObject({ org: 'second', retry_of: failed, request_counts: { total: 1 } });
    const [before, after] = await Promise.all([failed, json.id].map((id) => app.store.batches.find(id)));
    expect([after!.orgId, after!.keyId]).toEqual([before!.orgId, before!.keyId]);
    expect((await app.call('GET', `/v1/batches/${json.id}`, { key: app.keys.b })).status).toBe(200);
    expect((await app.call('GET', `/v1/batches/${json.id}`, { key: app.keys.a })).status).toBe(404);
    expect(await auditOf(failed)).toEqual([['batch.retry', null, { batch_id: json.id }]]);
    expect((await admin('POST', `/${ofB}/retry`)).status).toBe(409);
  });

  it('is retried within the limits of its org and its key, which may be revoked', async () => {
    const asAdmin = (method: string, path: string, json?: unknown) =>
      app.call(method, `/v1/admin/${path}`, { key: app.keys.admin, ...(json !== undefined && { json }) });
    const org = (await asAdmin('POST', 'orgs', { name: 'third' })).json.id;
    const { id: keyId, key } = (await asAdmin('POST', 'keys', { org_id: org, priority: 3 })).json;
    const old = await create(key, [line(0, '[[fail 400]]')]);
    await until('it has ended', async () => (await statusOf(old)) === 'completed');
    const retry = () => admin('POST', `/${old}/retry`);
    const refusal = async () => {
      const { status, json } = await retry();
      return [status, json.error?.code, json.error?.message];
    };
    await asAdmin('PATCH', `orgs/${org}`, { limits: { queued_requests: 0 } });
    expect(await refusal()).toEqual([
      429,
      'queued_requests_exceeded',
      'The limit of this organization, 0 queued requests (queued_requests), allows no batches. Ask the operator to raise it.',
    ]);
    await asAdmin('PATCH', `orgs/${org}`, { limits: null });
    await asAdmin('PATCH', `keys/${keyId}`, { limits: { stored_bytes: 1 } });
    expect((await refusal()).slice(0, 2)).toEqual([402, 'storage_quota_exceeded']);
    await asAdmin('PATCH', `keys/${keyId}`, { limits: null, models: ['vectors'] });
    expect((await refusal()).slice(0, 2)).toEqual([422, 'model_not_allowed']);
    await asAdmin('PATCH', `keys/${keyId}`, { models: null });
    await admin('PATCH', `/${old}`, { priority: 9 });
    await asAdmin('DELETE', `keys/${keyId}`);
    const { status, json } = await retry();
    expect([status, json.priority]).toEqual([201, 3]);
    expect((await app.store.batches.find(json.id))!.keyId).toBe(keyId);
  });

  it('404 and 403: shows no results of an enabled org, and only the scope admin may see it', async () => {
    const gone = `batch_${'0'.repeat(32)}`;
    for (const [method, path] of [
      ['GET', `/${gone}`],
      ['POST', `/${gone}/cancel`],
      ['POST', `/${gone}/retry`],
      ['GET', `/${gone}/output`],
    ] as const)
      expect((await admin(method, path)).status).toBe(404);
    for (const stream of ['output', 'errors'])
      expect((await admin('GET', `/${ofB}/${stream}`)).json.error.message).toBe(
        'An admin key reads results only of a disabled org. Use a key of the org.',
      );
    expect((await admin('PATCH', `/${gone}`, { priority: 1 })).status).toBe(404);
    for (const path of ['', `/${ofB}`])
      expect((await app.call('GET', `/v1/admin/batches${path}`, {})).status).toBe(403);
  });
});

describe('the retry of a batch of a disabled org', () => {
  it('403: is refused, and a dry run says so', async () => {
    const setDisabled = (disabled: boolean) =>
      app.call('PATCH', '/v1/admin/orgs/second', { key: app.keys.admin, json: { disabled } });
    await setDisabled(true);
    const dryRun = await admin('POST', `/${failed}/retry`, { dry_run: true });
    const { status, json } = await admin('POST', `/${failed}/retry`);
    await setDisabled(false);
    const message = 'The org of the batch is disabled. Enable it first.';
    expect([dryRun.status, dryRun.json.quota.fits]).toEqual([200, false]);
    expect(dryRun.json.quota.reasons).toEqual([{ code: 'org_disabled', message }]);
    expect([status, json.error.code, json.error.message]).toEqual([403, 'org_disabled', message]);
    expect((await admin('POST', `/${failed}/retry`, { dry_run: true })).json.quota.fits).toBe(true);
  });
});

describe('the results of a disabled org', () => {
  it('200: can be downloaded by an admin, and each download is in the audit log', async () => {
    const key = app.keys.admin;
    await app.call('PATCH', '/v1/admin/orgs/second', { key, json: { disabled: true } });
    expect((await app.call('GET', `/v1/batches/${failed}/output`, { key: app.keys.b })).status).toBe(403);
    const output = await app.call('GET', `/v1/admin/batches/${failed}/output`, { key });
    expect([output.status, output.text.trimEnd().split('\n').length]).toEqual([200, 1]);
    const errors = await app.call('GET', `/v1/admin/batches/${failed}/errors?after=1`, { key });
    expect([errors.status, errors.text]).toEqual([200, '']);
    const { data } = (await app.call('GET', '/v1/admin/audit?action=batch.read', { key })).json;
    expect(data.map(({ target, after }: { target: string; after: object }) => [target, after])).toEqual([
      [failed, { stream: 'errors' }],
      [failed, { stream: 'output' }],
    ]);
    expect((await app.call('GET', `/v1/admin/batches/${failed}/output`)).status).toBe(403);
    await app.call('PATCH', '/v1/admin/orgs/second', { key, json: { disabled: false } });
    expect((await app.call('GET', `/v1/admin/batches/${failed}/output`, { key })).status).toBe(403);
  });
});

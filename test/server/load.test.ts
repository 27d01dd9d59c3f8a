import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { until } from '../support/until.ts';
import { chatLine } from './support/jsonl.ts';
import { type RunningServer, startServer } from './support/start-server.ts';

let app: RunningServer;
beforeAll(async () => void (app = await startServer()));
afterAll(() => app.stop());

const admin = (method: string, path: string, json?: unknown) =>
  app.call(method, `/v1/admin/${path}`, { key: app.keys.admin, ...(json !== undefined && { json }) });
const chat = (content: string, how: { key?: string; model?: string } = {}) =>
  app.call('POST', '/v1/chat/completions', {
    key: how.key ?? app.keys.a,
    json: { model: how.model ?? 'default', messages: [{ role: 'user', content }] },
  });

describe('the queue', () => {
  it('200: has the work of each model, its slots, and the shares of the orgs by weight', async () => {
    const { json: idle } = await admin('GET', 'queue');
    expect(idle).toMatchObject({ object: 'list', has_more: false });
    const own = (list: typeof idle) => list.data.find(({ model }: { model: string }) => model === 'tiny');
    expect(own(idle)).toEqual({
      object: 'model_queue',
      model: 'tiny',
      requests: 0,
      tokens: 0,
      seconds: 0,
      tokens_per_second: null,
      slack_seconds: null,
      needed_tokens_per_second: 0,
      slots: expect.any(Number),
      found: null,
      in_use: 0,
      in_flight: 0,
      waiting: null,
      hours: null,
      orgs: [],
    });
    const { data: orgs } = (await admin('GET', 'orgs')).json;
    const [a, b] = ['default', 'second'].map((name) =>
      orgs.find((org: { name: string }) => org.name === name),
    );
    await admin('PATCH', `orgs/${b.id}`, { weight: 3 });
    const requests = Array.from({ length: 30 }, (_, n) => chatLine(n, 'default', '[[hang]]'));
    const json = { endpoint: '/v1/chat/completions', completion_window: '24h', requests };
    const ids: string[] = [];
    for (const key of [app.keys.a, app.keys.b])
      ids.push((await app.call('POST', '/v1/batches', { key, json })).json.id);
    await until(
      'all slots are used',
      async () => own((await admin('GET', 'queue')).json).in_use >= own(idle).slots,
    );
    // More may be in flight, so that no slot is idle.
    const { in_use: used, in_flight: inFlight, slots } = own((await admin('GET', 'queue')).json);
    expect(used).toBe(slots);
    expect(inFlight).toBeGreaterThanOrEqual(used);
    const busy = await until('the work is seen', async () => {
      const seen = own((await admin('GET', 'queue')).json);
      return seen.requests === 60 ? seen : undefined;
    });
    expect(busy).toMatchObject({ tokens: expect.any(Number), seconds: null, slack_seconds: null });
    expect(busy.tokens).toBeGreaterThan(60);
    const share = (org: { id: string }) =>
      busy.orgs.find((each: { org_id: string }) => each.org_id === org.id);
    expect(share(a)).toMatchObject({ org: 'default', share: 0.25, requests: 30, tokens: busy.tokens / 2 });
    expect(share(b)).toMatchObject({ org: 'second', share: 0.75 });
    for (const id of ids) await admin('POST', `batches/${id}/cancel`);
    await until('the work is gone', async () => own((await admin('GET', 'queue')).json).requests === 0);
  });

  it.each([
    ['drained', (id: string) => `replicas/${id}/drain`, (id: string) => `replicas/${id}/undrain`, undefined],
    ['paused', () => 'pause', () => 'resume', { model: 'tiny' }],
  ] as const)('200: says that a model is %s, and has no time for it', async (reason, stop, start, body) => {
    const read = async () =>
      (await admin('GET', 'queue')).json.data.find(({ model }: { model: string }) => model === 'tiny');
    const { data: replicas } = (await admin('GET', 'replicas')).json;
    const { id } = replicas.find(({ model }: { model: string }) => model === 'tiny');
    await admin('POST', stop(id), body);
    const json = {
      endpoint: '/v1/chat/completions',
      completion_window: '24h',
      requests: [chatLine(0, 'default', 'hello')],
    };
    const batch = (await app.call('POST', '/v1/batches', { json })).json.id;
    const seen = async () => (await app.call('GET', `/v1/batches/${batch}`)).json;
    const waits = await until('the batch waits', async () => {
      const { waiting, progress } = await seen();
      return waiting && { waiting, progress };
    });
    expect(waits).toMatchObject({
      waiting: { reason, message: expect.stringMatching(/^The operator of the server has /) },
      progress: { running: 0, pending: 1, eta: null },
    });
    expect(await read()).toMatchObject({
      seconds: null,
      slack_seconds: null,
      in_use: 0,
      waiting: { reason, message: waits.waiting.message },
    });
    await admin('POST', start(id), body);
    await until('the batch ends', async () => (await seen()).status === 'completed');
    const after = await until('the queue is empty', async () => {
      const queue = await read();
      return queue.requests === 0 && queue;
    });
    expect(after).toMatchObject({ seconds: 0, waiting: null });
  });

  it('422 and 403: takes no parameters, and needs the scope admin', async () => {
    expect((await admin('GET', 'queue?model=tiny')).json.error.param).toBe('model');
    expect((await app.call('GET', '/v1/admin/queue', {})).status).toBe(403);
  });
});

describe('the last requests', () => {
  const list = async (query = ''): Promise<Record<string, unknown>[]> =>
    (await admin('GET', `requests?${query}`)).json.data;

  it('200: have their metadata, newest first, and no content', async () => {
    const answered = await chat('a secret question');
    await chat('another secret', { key: app.keys.b });
    await chat('x', { model: 'gone' });
    await app.call('GET', '/v1/models', {});
    const { json, text } = await admin('GET', 'requests?limit=3');
    expect(text).not.toContain('secret');
    const [gone, second, first] = json.data;
    expect(gone).toMatchObject({ status: 404, code: 'model_not_found', model: null, input_tokens: null });
    expect(second).toMatchObject({ org: 'second', status: 200 });
    expect(first).toEqual({
      id: answered.headers.get('x-request-id'),
      object: 'request',
      process: expect.stringMatching(/^wrk_/),
      started_at: expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/),
      org_id: expect.stringMatching(/^org_/),
      org: 'default',
      key_id: expect.stringMatching(/^key_/),
      key_name: expect.any(String),
      endpoint: '/v1/chat/completions',
      model: 'tiny',
      server: expect.any(String),
      status: 200,
      code: null,
      ms: expect.any(Number),
      queued_ms: expect.any(Number),
      first_ms: expect.any(Number),
      input_tokens: answered.json.usage.prompt_tokens,
      cached_tokens: 0,
      output_tokens: answered.json.usage.completion_tokens,
      amount: expect.stringMatching(/^0\.0+[1-9]/),
    });
    expect(json.has_more).toBe(false);
  });

  it('200: are filtered by org, model and status, and paged', async () => {
    const ids = async (query: string) => (await list(query)).map(({ id }) => id);
    const all = await ids('');
    expect(await ids('limit=2')).toEqual(all.slice(0, 2));
    expect(await ids(`limit=2&after=${String(all[0])}`)).toEqual(all.slice(1, 3));
    expect(await list('org=second')).toMatchObject([{ org: 'second' }]);
    expect(await list('status=404')).toMatchObject([{ code: 'model_not_found' }]);
    expect(await list('status=4xx')).toEqual(await list('status=404'));
    expect(await list('status=error')).toEqual(await list('status=404'));
    expect(await ids('status=2xx')).toHaveLength(all.length - 1);
    const [{ key_id: key } = {}] = await list('org=second');
    expect(await list(`key_id=${String(key)}`)).toEqual(await list('org=second'));
    expect((await list('model=default')).every(({ model }) => model === 'tiny')).toBe(true);
    expect(await list('model=default')).toHaveLength(2);
  });

  it('422 and 403: reject invalid filters, and need the scope admin', async () => {
    for (const query of ['status=99', 'limit=1001', 'org=nowhere', 'status=6xx', 'user=x', 'after=req_0'])
      expect((await admin('GET', `requests?${query}`)).json.error.param).toBe(query.split('=')[0]);
    expect((await app.call('GET', '/v1/admin/requests', {})).status).toBe(403);
  });
});

describe('the processes', () => {
  const read = async () => (await admin('GET', 'processes')).json.data;

  it('200: are listed with their requests in flight and their leases', async () => {
    const { json: idle } = await admin('GET', 'processes');
    const own = {
      id: expect.stringMatching(/^wrk_/),
      object: 'process',
      is_self: true,
      role: 'all',
      state: 'alive',
      version: '1.2.3',
      host: 'machine-1',
      pid: 7,
      started_at: expect.stringMatching(/^20/),
      last_seen_at: expect.stringMatching(/^20/),
      models: ['tiny', 'org/model:tag', 'vectors'],
      in_flight: { batch_lines: 0, requests: 0 },
      leases: { chunks: 0, lines: 0, slots: [] },
    };
    expect(idle).toEqual({ object: 'list', data: [own], has_more: false });
    const requests = Array.from({ length: 5 }, (_, n) => chatLine(n, 'default', '[[hang]]'));
    const json = { endpoint: '/v1/chat/completions', completion_window: '24h', requests };
    const { id } = (await app.call('POST', '/v1/batches', { json })).json;
    const [busy] = await until('lines are in flight', async () => {
      const seen = await read();
      return seen[0].in_flight.batch_lines === 5 ? seen : undefined;
    });
    expect(busy.leases).toMatchObject({ chunks: 1, lines: 5 });
    await app.call('POST', `/v1/batches/${id}/cancel`);
    await until('nothing is leased', async () => (await read())[0].leases.chunks === 0);
  });

  it('200: shows a silent one, of an older version, until it is removed', async () => {
    const { now } = await app.store.workers.beat('wrk_1', { interactive: { tiny: 2 } });
    await app.store.workers.beat('wrk_2', { interactive: {} });
    const models = { tiny: { limit: 8, wants: 3, inFlight: 0 } };
    await app.store.workers.leaseSlots('wrk_1', models, now + 60_000);
    const one = async () => (await read()).find(({ id }: { id: string }) => id === 'wrk_1');
    expect(await one()).toMatchObject({
      is_self: false,
      state: 'alive',
      version: null,
      host: null,
      started_at: null,
      in_flight: { batch_lines: 0, requests: 2 },
      leases: { slots: [{ model: 'tiny', slots: 3 }] },
    });
    await app.store.workers.reap(now + 1);
    expect(await one()).toBeUndefined();
  });

  it('403: are hidden from keys without the scope', async () => {
    expect((await app.call('GET', '/v1/admin/processes')).status).toBe(403);
  });
});

import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { serverActor } from '../../src/core/audit.ts';
import { replicaId } from '../../src/inference/replica-id.ts';
import { chatLine } from './support/jsonl.ts';
import { type RunningServer, startServer } from './support/start-server.ts';

let app: RunningServer;
beforeAll(async () => void (app = await startServer()));
afterAll(() => app.stop());

const admin = (method: string, path: string, json?: unknown) =>
  app.call(method, `/v1/admin/${path}`, { key: app.keys.admin, ...(json !== undefined && { json }) });

describe('pauses', () => {
  afterEach(() => admin('POST', 'resume', { everything: true }));

  it('200: name the model by its id and the org by its id and name, and end with a resume around them', async () => {
    const { data: orgs } = (await admin('GET', 'orgs')).json;
    const { id } = orgs.find((org: { name: string }) => org.name === 'second');
    const first = await admin('POST', 'pause', { model: 'default' });
    expect(first).toMatchObject({
      status: 200,
      json: {
        object: 'list',
        has_more: false,
        data: [
          {
            object: 'batch_pause',
            model: 'tiny',
            org_id: null,
            org: null,
            since: expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$/),
            key_id: expect.stringMatching(/^key_/),
          },
        ],
      },
    });
    const scopes = async (answer: ReturnType<typeof admin>) =>
      (await answer).json.data.map(({ model, org }: Record<string, unknown>) => [model, org]);
    expect(await scopes(admin('POST', 'pause', { org: 'second', model: null }))).toEqual([
      ['tiny', null],
      [null, 'second'],
    ]);
    await admin('POST', 'pause', { org: id, model: 'tiny' });
    expect(await scopes(admin('GET', 'pause'))).toHaveLength(3);
    expect(await scopes(admin('POST', 'resume', { model: 'tiny' }))).toEqual([[null, 'second']]);
    expect(await scopes(admin('POST', 'pause', { everything: true }))).toEqual([
      [null, 'second'],
      [null, null],
    ]);
    expect(await scopes(admin('POST', 'resume', { everything: true }))).toEqual([]);
  });

  it('stop the batches of an org, which say by whom and since when, and not its single requests', async () => {
    const requests = [0, 1, 2].map((n) => chatLine(n));
    await admin('POST', 'pause', { org: 'default' });
    const { json: batch } = await app.call('POST', '/v1/batches', {
      json: { endpoint: '/v1/chat/completions', completion_window: '24h', requests },
    });
    expect(batch.waiting).toMatchObject({
      reason: 'paused',
      message: expect.stringMatching(
        /^The operator of the server has paused the org's batches since \d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ\.$/,
      ),
    });
    const chat = { model: 'tiny', messages: [{ role: 'user', content: 'Hello?' }] };
    expect((await app.call('POST', '/v1/chat/completions', { json: chat })).status).toBe(200);
    const { json: others } = await app.call('POST', '/v1/batches', {
      key: app.keys.b,
      json: { endpoint: '/v1/chat/completions', completion_window: '24h', requests },
    });
    const status = async (id: string, key = app.keys.a) =>
      (await app.call('GET', `/v1/batches/${id}`, { key })).json.status;
    await expect.poll(() => status(others.id, app.keys.b)).toBe('completed');
    expect(await status(batch.id)).toBe('validating');
    await admin('POST', 'resume', { org: 'default' });
    await expect.poll(() => status(batch.id)).toBe('completed');
  });

  it('422: reject unknown and ambiguous names, and unknown fields', async () => {
    const param = async (json: object) => {
      const { status, json: body } = await admin('POST', 'pause', json);
      expect(status).toBe(422);
      return [body.error.param, body.error.message];
    };
    expect(await param({ model: 'gone' })).toEqual(['model', 'model: unknown model "gone"']);
    expect(await param({ org: 'gone' })).toEqual(['org', 'org: there is no org with this id or name']);
    for (let n = 0; n < 2; n++) await admin('POST', 'orgs', { name: 'twin' });
    expect(await param({ org: 'twin' })).toEqual([
      'org',
      expect.stringMatching(/^org: 2 orgs have this name; use one of the ids org_/),
    ]);
    expect((await param({ batch: 'batch_1' }))[0]).toBe('batch');
    // Everything is paused and resumed only on purpose, not by a variable that is unset.
    const unnamed = 'name a model or an org, or send {"everything": true} for all batches';
    for (const json of [{}, { model: null }, { org: null }, { model: null, org: null }]) {
      expect((await param(json))[1]).toContain(unnamed);
      expect((await admin('POST', 'resume', json)).status).toBe(422);
    }
    expect((await param({ everything: false }))[0]).toBe('everything');
    expect(await param({ everything: true, model: 'tiny' })).toEqual([
      'everything',
      'everything: excludes model and org',
    ]);
    expect((await admin('POST', 'pause')).status).toBe(415);
    expect((await admin('GET', 'pause')).json.data).toEqual([]);
  });
});

describe('replicas', () => {
  it('200: have an id, their state, and who drained them; a drain is kept until it ends', async () => {
    const { json } = await admin('GET', 'replicas');
    const [replica] = json.data;
    expect(replica).toEqual({
      id: replicaId(replica.model, replica.server),
      object: 'replica',
      model: 'tiny',
      server: expect.any(String),
      health: 'up',
      slots: expect.any(Number),
      configured: 8,
      found: null,
      in_use: 0,
      in_flight: 0,
      slowdown: null,
      waiting: null,
      drained_at: null,
      drained_by: null,
      cap: null,
      capped_at: null,
      capped_by: null,
    });
    const path = `replicas/${replica.id}`;
    const drained = await admin('POST', `${path}/drain`);
    expect(drained).toMatchObject({
      status: 200,
      json: {
        id: replica.id,
        health: 'draining',
        drained_at: expect.stringMatching(/Z$/),
        drained_by: expect.stringMatching(/^key_/),
      },
    });
    expect((await admin('POST', `${path}/drain`)).json).toEqual(drained.json);
    expect((await admin('GET', 'replicas')).json.data).toContainEqual(drained.json);
    const chat = { model: 'tiny', messages: [{ role: 'user', content: 'Hello?' }] };
    const { status, headers, json: refused } = await app.call('POST', '/v1/chat/completions', { json: chat });
    expect([status, headers.get('retry-after'), refused.error.message]).toEqual([
      503,
      '30',
      'The operator of the server has drained every server of this model.',
    ]);
    expect(await admin('POST', `${path}/undrain`)).toMatchObject({ status: 200, json: replica });
    expect((await app.call('POST', '/v1/chat/completions', { json: chat })).status).toBe(200);
    expect((await admin('POST', `${path}/undrain`)).status).toBe(200);
  });

  it('200: are capped and uncapped, with entries in the audit log', async () => {
    const [replica] = (await admin('GET', 'replicas')).json.data;
    const path = `replicas/${replica.id}`;
    const capped = await admin('POST', `${path}/cap`, { max_in_flight: 3 });
    expect(capped).toMatchObject({
      status: 200,
      json: {
        slots: 3,
        configured: 8,
        cap: 3,
        capped_at: expect.stringMatching(/Z$/),
        capped_by: expect.stringMatching(/^key_/),
      },
    });
    expect((await admin('POST', `${path}/cap`, { max_in_flight: 3 })).json).toEqual(capped.json);
    expect((await admin('POST', `${path}/cap`, { max_in_flight: 100 })).json).toMatchObject({
      slots: 8,
      cap: 100,
    });
    expect(await admin('POST', `${path}/uncap`)).toMatchObject({ status: 200, json: replica });
    expect((await admin('POST', `${path}/uncap`)).status).toBe(200);
    const entries = async (action: string) =>
      (await admin('GET', `audit?action=${action}`)).json.data.map(
        ({ before, after }: Record<string, { max_in_flight: number } | null>) => [
          before?.max_in_flight,
          after?.max_in_flight,
        ],
      );
    expect(await entries('replica.cap')).toEqual([
      [3, 100],
      [undefined, 3],
    ]);
    expect(await entries('replica.uncap')).toEqual([[100, undefined]]);
  });

  it('422: take no cap below 1, and no unknown field', async () => {
    const [replica] = (await admin('GET', 'replicas')).json.data;
    for (const json of [{ max_in_flight: 0 }, { max_in_flight: 1.5 }, {}, { max_in_flight: 1, slots: 1 }])
      expect((await admin('POST', `replicas/${replica.id}/cap`, json)).status).toBe(422);
    expect((await admin('POST', 'replicas/rep_x/cap', { max_in_flight: 1 })).status).toBe(404);
    expect((await admin('GET', 'replicas')).json.data[0]).toEqual(replica);
  });

  it('that no process lists any more can be undrained', async () => {
    const id = `rep_${'a'.repeat(32)}`;
    await app.store.controls.drain({ id, model: 'old', server: 'http://old' }, { actor: serverActor, at: 0 });
    await expect
      .poll(async () => (await admin('GET', 'replicas')).json.data)
      .toContainEqual(expect.objectContaining({ id, model: 'old', server: 'http://old', health: null }));
    expect((await admin('POST', `replicas/${id}/undrain`)).status).toBe(200);
    expect((await admin('POST', `replicas/${id}/undrain`)).status).toBe(404);
    expect((await admin('POST', `replicas/${id}/drain`)).status).toBe(404);
    expect((await admin('POST', 'replicas/x/drain')).json.error.message).toBe('No such replica.');
  });
});

it('403: need the scope admin', async () => {
  for (const [method, path] of [
    ['GET', 'pause'],
    ['POST', 'pause'],
    ['POST', 'resume'],
    ['GET', 'replicas'],
    ['POST', `replicas/rep_${'a'.repeat(32)}/drain`],
    ['POST', `replicas/rep_${'a'.repeat(32)}/cap`],
  ] as const)
    expect((await app.call(method, `/v1/admin/${path}`, method === 'GET' ? {} : { json: {} })).status).toBe(
      403,
    );
});

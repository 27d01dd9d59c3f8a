import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { defaultScopes } from '../../src/core/org.ts';
import { type RunningServer, startServer } from './support/start-server.ts';

let app: RunningServer;
beforeAll(async () => void (app = await startServer()));
afterAll(() => app.stop());

const admin = (method: string, path: string, json?: unknown) =>
  app.call(method, `/v1/admin/${path}`, { key: app.keys.admin, ...(json !== undefined && { json }) });

describe('orgs', () => {
  it('201 and 200: creates orgs and lists them, oldest first', async () => {
    const { status, json } = await admin('POST', 'orgs', { name: 'third' });
    expect(status).toBe(201);
    expect(json).toEqual({
      id: expect.stringMatching(/^org_/),
      object: 'org',
      name: 'third',
      created_at: expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$/),
      disabled: false,
      disabled_at: null,
      weight: 1,
      limits: {},
      budget: null,
    });
    const { json: list } = await admin('GET', 'orgs');
    expect(list).toMatchObject({ object: 'list', has_more: false, last_id: json.id });
    expect(list.data.map((org: { name: string }) => org.name)).toEqual(['default', 'second', 'third']);
  });

  it('422: rejects an unknown parameter of the list', async () => {
    const { status, json } = await admin('GET', 'orgs?name=third');
    expect([status, json.error.message]).toEqual([422, 'name: unknown parameter; known are limit, after']);
  });

  it('200: lists orgs and keys page by page, or whole', async () => {
    for (const path of ['orgs', 'keys']) {
      const { json: whole } = await admin('GET', path);
      expect(whole.has_more).toBe(false);
      const ids = whole.data.map(({ id }: { id: string }) => id);
      expect(ids.length).toBeGreaterThan(2);
      const paged: string[] = [];
      for (let after = ''; ;) {
        const { json } = await admin('GET', `${path}?limit=2${after && `&after=${after}`}`);
        paged.push(...json.data.map(({ id }: { id: string }) => id));
        expect(json.data.length).toBeLessThanOrEqual(2);
        after = json.last_id;
        if (!json.has_more) break;
      }
      expect(paged).toEqual(ids);
      for (const query of ['limit=0', 'limit=1001', 'after=file-1', 'limit=1&limit=2'])
        expect((await admin('GET', `${path}?${query}`)).status).toBe(422);
    }
  });

  it('422: names the type of a name that is no text', async () => {
    const { status, json } = await admin('POST', 'orgs', { name: 5 });
    const expected =
      'a string of up to 200 characters of valid Unicode, not only spaces, without control characters';
    expect([status, json.error.message]).toEqual([422, `name: expected ${expected}, got 5`]);
  });

  it('422: rejects a missing name, a name with a NUL and an unknown field', async () => {
    expect((await admin('POST', 'orgs', {})).json.error.param).toBe('name');
    expect((await admin('POST', 'orgs', { name: 'x', plan: 'gold' })).json.error.param).toBe('plan');
    const { status, json } = await admin('POST', 'orgs', { name: 'a\u0000b' });
    expect([status, json.error.param]).toEqual([422, 'name']);
  });
});

describe('settings of an org', () => {
  const create = async (fields: object = {}) =>
    (await admin('POST', 'orgs', { name: 'settings', ...fields })).json;

  it('200: sets limits and lifts them one by one or all, and shows them', async () => {
    const { id, limits } = await create({
      weight: 2,
      limits: { requests_per_minute: 100, queued_tokens: { default: 5 } },
    });
    expect(limits).toEqual({ requests_per_minute: 100, queued_tokens: { tiny: 5 } });
    const changed = await admin('PATCH', `orgs/${id}`, {
      name: 'renamed',
      limits: { stored_bytes: 0, requests_per_minute: null },
    });
    expect(changed.json).toMatchObject({ name: 'renamed', weight: 2 });
    expect(changed.json.limits).toEqual({ stored_bytes: 0, queued_tokens: { tiny: 5 } });
    expect((await admin('GET', `orgs/${id}`)).json).toEqual(changed.json);
    const lifted = await admin('PATCH', `orgs/${id}`, {
      limits: { queued_tokens: { default: null, gone: null } },
    });
    expect(lifted.json.limits).toEqual({ stored_bytes: 0 });
    expect((await admin('PATCH', `orgs/${id}`, { limits: null })).json.limits).toEqual({});
  });

  it.each<[object, string, string]>([
    [{ limits: { rpm: 5 } }, 'limits.rpm', '"requests_per_minute", "input_tokens_per_minute"'],
    [{ limits: { requests_per_minute: -1 } }, 'limits.requests_per_minute', 'at least 0'],
    [{ limits: { requests_per_minute: 1.5 } }, 'limits.requests_per_minute', 'an integer'],
    [{ limits: { open_batches: 1e300 } }, 'limits.open_batches', 'at most'],
    [{ limits: { queued_tokens: 5 } }, 'limits.queued_tokens', 'an object'],
    [{ limits: { queued_tokens: { nope: 5 } } }, 'limits.queued_tokens.nope', 'unknown model "nope"'],
    [{ limits: { queued_tokens: { tiny: 5, default: 6 } } }, 'limits.queued_tokens.default', 'second name'],
    [{ limits: [] }, 'limits', 'an object'],
    [{ weight: 0 }, 'weight', 'at least 1'],
    [{ disabled: 'yes' }, 'disabled', 'a boolean'],
    [{ plan: 'gold' }, 'plan', 'unknown field'],
  ])('422: %j', async (body, param, message) => {
    const { id } = await create();
    const { status, json } = await admin('PATCH', `orgs/${id}`, body);
    expect([status, json.error.param]).toEqual([422, param]);
    expect(json.error.message).toContain(message);
    expect((await admin('GET', `orgs/${id}`)).json).toMatchObject({ limits: {}, weight: 1, disabled: false });
  });

  it('404: reports an unknown org', async () => {
    for (const method of ['GET', 'PATCH'])
      expect(
        (await admin(method, `orgs/org_${'0'.repeat(32)}`, method === 'GET' ? undefined : {})).status,
      ).toBe(404);
  });

  it('403: refuses the keys of a disabled org until it is enabled, except for administration', async () => {
    const { id } = await create();
    const { key } = (await admin('POST', 'keys', { org_id: id })).json;
    const own = (await admin('POST', 'keys', { org_id: id, scopes: ['admin', 'inference'] })).json
      .key as string;
    const disabled = await admin('PATCH', `orgs/${id}`, { disabled: true });
    expect([disabled.json.disabled, typeof disabled.json.disabled_at]).toEqual([true, 'string']);
    const { status, json } = await app.call('GET', '/v1/files', { key });
    expect([status, json.error.code, json.error.message]).toEqual([
      403,
      'org_disabled',
      'The org of this API key is disabled. An administrator can enable it.',
    ]);
    const chat = { model: 'tiny', messages: [{ role: 'user', content: 'hi' }] };
    expect((await app.call('POST', '/v1/chat/completions', { key: own, json: chat })).status).toBe(403);
    expect(
      (await app.call('PATCH', `/v1/admin/orgs/${id}`, { key: own, json: { disabled: false } })).status,
    ).toBe(200);
    expect((await app.call('GET', '/v1/files', { key })).status).toBe(200);
  });
});

describe('names of orgs', () => {
  it('are accepted wherever an id is, and an id goes first', async () => {
    const { id } = (await admin('POST', 'orgs', { name: 'team / search ü' })).json;
    const path = `orgs/${encodeURIComponent('team / search ü')}`;
    expect((await admin('GET', path)).json.id).toBe(id);
    expect((await admin('PATCH', path, { weight: 3 })).json).toMatchObject({ id, weight: 3 });
    const key = (await admin('POST', 'keys', { org_id: 'team / search ü' })).json;
    expect(key.org_id).toBe(id);
    const listed = await admin('GET', `keys?org_id=${encodeURIComponent('team / search ü')}`);
    expect(listed.json.data.map((each: { id: string }) => each.id)).toEqual([key.id]);
    const usage = await app.call('GET', `/v1/usage?org_id=${encodeURIComponent('team / search ü')}`, {
      key: app.keys.admin,
    });
    expect(usage.status).toBe(200);
    const impostor = (await admin('POST', 'orgs', { name: id })).json;
    expect((await admin('GET', `orgs/${id}`)).json.name).toBe('team / search ü');
    expect((await admin('GET', `orgs/${impostor.id}`)).json.name).toBe(id);
  });

  it('422: that several orgs have are refused, with the ids; 404 and 422: and unknown ones', async () => {
    const ids = [];
    for (let n = 0; n < 2; n++) ids.push((await admin('POST', 'orgs', { name: 'twins' })).json.id);
    for (const [method, path, body] of [
      ['GET', 'orgs/twins', undefined],
      ['PATCH', 'orgs/twins', { weight: 9 }],
      ['POST', 'keys', { org_id: 'twins' }],
      ['GET', 'keys?org_id=twins', undefined],
    ] as const) {
      const { status, json } = await admin(method, path, body);
      expect([status, json.error.param]).toEqual([422, 'org_id']);
      for (const id of ids) expect(json.error.message).toContain(id);
    }
    expect((await admin('GET', `orgs/${ids[0]}`)).json.weight).toBe(1);
    expect((await admin('GET', 'orgs/nobody')).status).toBe(404);
    expect((await admin('POST', 'keys', { org_id: 'nobody' })).status).toBe(422);
  });
});

describe('rotation', () => {
  const make = async (fields: object = {}) =>
    (await admin('POST', 'keys', { org_id: (await admin('GET', 'orgs')).json.data[0].id, ...fields })).json;
  const works = async (key: string) => (await app.call('GET', '/v1/files', { key })).status;

  it('201: makes a key with the same settings, and the old one works until the overlap ends', async () => {
    const old = await make({
      name: 'ci',
      scopes: ['files'],
      models: ['tiny'],
      limits: { open_batches: 3 },
      priority: 4,
      expires_at: '2100-01-01T00:00:00Z',
    });
    const { status, json } = await admin('POST', `keys/${old.id}/rotate`, { overlap: 3_600 });
    expect(status).toBe(201);
    const { id, key, prefix, created_at: _, old_key: replaced, ...settings } = json;
    const { id: oldId, key: oldKey, prefix: oldPrefix, created_at: _old, ...oldSettings } = old;
    expect(settings).toEqual(oldSettings);
    expect([id === oldId, key === oldKey, prefix === oldPrefix]).toEqual([false, false, false]);
    expect([await works(key), await works(oldKey)]).toEqual([200, 200]);
    expect(replaced).toMatchObject({ id: oldId, replaced_by: id, revoked_at: null });
    const { last_used_at: _used, ...stored } = (await admin('GET', `keys/${oldId}`)).json;
    expect(replaced).toMatchObject(stored);
    const again = await admin('POST', `keys/${oldId}/rotate`, {});
    expect([again.status, again.json.error.code]).toEqual([409, 'key_replaced']);
    expect(again.json.error.message).toContain(id);
    const left = Date.parse((await admin('GET', `keys/${oldId}`)).json.expires_at) - Date.now();
    expect(left > 3_500_000 && left <= 3_600_000).toBe(true);
    const { data } = (await admin('GET', `audit?limit=2`)).json;
    expect(data.map((entry: { action: string; target: string }) => [entry.action, entry.target])).toEqual([
      ['key.rotate', oldId],
      ['key.create', id],
    ]);
    expect(data[0].after.replaced_by).toBe(id);
  });

  it('201: without an overlap revokes the old key at once; an earlier expiry stays', async () => {
    for (const body of [{}, undefined]) {
      const old = await make();
      const { json } = await admin('POST', `keys/${old.id}/rotate`, body);
      expect([await works(json.key), await works(old.key)]).toEqual([200, 401]);
    }
    const soon = new Date(Date.now() + 60_000).toISOString();
    const short = await make({ expires_at: soon });
    await admin('POST', `keys/${short.id}/rotate`, { overlap: 3_600 });
    expect((await admin('GET', `keys/${short.id}`)).json.expires_at).toBe(short.expires_at);
  });

  it('409: refuses a revoked and a disabled key; 404 an unknown one; 422 an overlap beyond 30 days', async () => {
    const key = await make();
    await admin('PATCH', `keys/${key.id}`, { disabled: true });
    const { status, json } = await admin('POST', `keys/${key.id}/rotate`, {});
    expect([status, json.error.code]).toEqual([409, 'key_not_active']);
    await admin('DELETE', `keys/${key.id}`);
    expect((await admin('POST', `keys/${key.id}/rotate`, {})).status).toBe(409);
    const enabled = await admin('PATCH', `keys/${key.id}`, { disabled: false });
    expect([enabled.status, enabled.json.error.code]).toEqual([409, 'key_not_active']);
    expect((await admin('POST', `keys/key_${'0'.repeat(32)}/rotate`, {})).status).toBe(404);
    expect((await admin('POST', `keys/${key.id}/rotate`, { overlap: 2_592_001 })).json.error.param).toBe(
      'overlap',
    );
  });

  it('403: a limited admin key cannot rotate, create or raise a key beyond itself', async () => {
    const limited = await make({ scopes: ['admin'], expires_at: '2100-01-01T00:00:00Z' });
    const eternal = await make();
    const call = (method: string, path: string, json: object) =>
      app.call(method, `/v1/admin/${path}`, { key: limited.key, json });
    for (const [method, path, body] of [
      ['POST', `keys/${eternal.id}/rotate`, {}],
      ['POST', 'keys', { org_id: limited.org_id }],
      ['PATCH', `keys/${limited.id}`, { expires_at: null }],
    ] as const) {
      const { status, json } = await call(method, path, body);
      expect([status, json.error.code, json.error.param]).toEqual([403, 'permission_denied', 'expires_at']);
    }
    expect(
      (await call('POST', 'keys', { org_id: limited.org_id, expires_at: limited.expires_at })).status,
    ).toBe(201);
  });
});

describe('keys', () => {
  it('200: changes settings, and shows them', async () => {
    const org = (await admin('GET', 'orgs')).json.data[0].id as string;
    const made = await admin('POST', 'keys', {
      org_id: org,
      priority: 7,
      service_tier: 'flex',
      limits: { concurrent_requests: 3 },
      models: ['tiny'],
      expires_at: '2100-01-01T00:00:00Z',
    });
    expect(made.json).toMatchObject({
      priority: 7,
      service_tier: 'flex',
      limits: { concurrent_requests: 3 },
      disabled: false,
    });
    const { key, ...shown } = made.json;
    expect((await admin('GET', `keys/${shown.id}`)).json).toEqual(shown);
    const changes = {
      name: 'ci',
      priority: 0,
      service_tier: null,
      models: null,
      expires_at: null,
      scopes: ['files'],
    };
    const limits = { concurrent_requests: null, queued_tokens: { default: 9 } };
    const changed = await admin('PATCH', `keys/${shown.id}`, { ...changes, limits });
    expect(changed.json).toEqual({ ...shown, ...changes, limits: { queued_tokens: { tiny: 9 } } });
    expect((await app.call('GET', '/v1/batches', { key })).status).toBe(403);
    expect((await app.call('GET', '/v1/files', { key })).status).toBe(200);
  });

  it('401: refuses a disabled key until it is enabled', async () => {
    const org = (await admin('GET', 'orgs')).json.data[0].id as string;
    const { id, key } = (await admin('POST', 'keys', { org_id: org })).json;
    expect((await admin('PATCH', `keys/${id}`, { disabled: true })).json.disabled).toBe(true);
    const { status, json } = await app.call('GET', '/v1/files', { key });
    expect([status, json.error.message]).toEqual([
      401,
      'This API key is disabled. An administrator can enable it.',
    ]);
    await admin('PATCH', `keys/${id}`, { disabled: false });
    expect((await app.call('GET', '/v1/files', { key })).status).toBe(200);
  });

  it.each<[object, string]>([
    [{ priority: 10 }, 'priority'],
    [{ service_tier: 'priority' }, 'service_tier'],
    [{ limits: { weight: 1 } }, 'limits.weight'],
    [{ models: ['nope'] }, 'models[0]'],
    [{ expires_at: '2001-01-01T00:00:00Z' }, 'expires_at'],
    [{ org_id: 'org_1' }, 'org_id'],
  ])('422: rejects the change %j', async (body, param) => {
    const { id } = (await admin('GET', 'keys')).json.data[0];
    const { status, json } = await admin('PATCH', `keys/${id}`, body);
    expect([status, json.error.param]).toEqual([422, param]);
  });

  it('201, C01: shows the secret once, accepts it, and never stores or lists it', async () => {
    const org = (await admin('POST', 'orgs', { name: 'fourth' })).json.id as string;
    const { status, json } = await admin('POST', 'keys', { org_id: org, name: 'ci', models: ['default'] });
    expect(status).toBe(201);
    expect(json).toMatchObject({
      object: 'api_key',
      org_id: org,
      name: 'ci',
      scopes: defaultScopes,
      models: ['tiny'],
    });
    expect(json.prefix).toBe(`${json.key.slice(0, 15)}...${json.key.slice(-4)}`);
    const models = await app.call('GET', '/v1/models', { key: json.key });
    expect(models.json.data.map((model: { id: string }) => model.id)).toEqual(['tiny']);
    const { text, json: list } = await admin('GET', `keys?org_id=${org}`);
    expect(list.data.map((key: { id: string }) => key.id)).toEqual([json.id]);
    expect(text).not.toContain(json.key);
    expect(JSON.stringify(await app.store.keys.list())).not.toContain(json.key);
  });

  it('200: revokes a key at once, and again without effect', async () => {
    const org = (await admin('GET', 'orgs')).json.data[0].id as string;
    const { json } = await admin('POST', 'keys', { org_id: org });
    expect((await app.call('GET', '/v1/models', { key: json.key })).status).toBe(200);
    const revoked = await admin('DELETE', `keys/${json.id}`);
    expect([revoked.status, typeof revoked.json.revoked_at]).toEqual([200, 'string']);
    expect((await app.call('GET', '/v1/models', { key: json.key })).status).toBe(401);
    expect((await admin('DELETE', `keys/${json.id}`)).json.revoked_at).toBe(revoked.json.revoked_at);
  });

  it('404: reports an unknown key', async () => {
    expect((await admin('DELETE', `keys/key_${'0'.repeat(32)}`)).json.error.message).toBe('No such key.');
    expect((await admin('DELETE', 'keys/x')).json.error.message).toBe('No such key.');
  });

  it.each<[string, object, string]>([
    ['an unknown org', { org_id: `org_${'0'.repeat(32)}` }, 'org_id'],
    ['no org', { name: 'x' }, 'org_id'],
    ['a name with a NUL', { org_id: 'org_1', name: 'a\u0000b' }, 'name'],
    ['an unknown scope', { scopes: ['root'] }, 'scopes[0]'],
    ['an unknown model', { models: ['tiny', 'nope'] }, 'models[1]'],
    ['an expiry in the past', { expires_at: '2001-01-01T00:00:00Z' }, 'expires_at'],
    ['an expiry that is not a timestamp', { expires_at: 'soon' }, 'expires_at'],
    ['allowed routes, a field of another gateway', { allowed_routes: ['/*'] }, 'allowed_routes'],
  ])('422: %s', async (_name, body, param) => {
    const org = (await admin('GET', 'orgs')).json.data[0].id as string;
    const before = (await app.store.keys.list()).length;
    const { status, json } = await admin('POST', 'keys', {
      ...(param === 'org_id' ? {} : { org_id: org }),
      ...body,
    });
    expect([status, json.error.param]).toEqual([422, param]);
    expect((await app.store.keys.list()).length).toBe(before);
  });

  it('422: names an unknown model', async () => {
    const org = (await admin('GET', 'orgs')).json.data[0].id as string;
    const { json } = await admin('POST', 'keys', { org_id: org, models: ['tiny,other'] });
    expect(json.error.message).toContain('"tiny,other"');
  });

  it('403, C07: allows no administration with any other scope', async () => {
    const org = (await admin('GET', 'orgs')).json.data[0].id as string;
    for (const [method, path, json] of [
      ['POST', '/v1/admin/keys', { org_id: org, scopes: ['admin'] }],
      ['POST', '/v1/admin/orgs', { name: 'mine' }],
      ['GET', '/v1/admin/keys', undefined],
      ['GET', '/v1/admin/orgs', undefined],
    ] as const)
      expect((await app.call(method, path, json ? { json } : {})).status).toBe(403);
  });
});

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
      budget: null,
    });
    const { json: list } = await admin('GET', 'orgs');
    expect(list).toMatchObject({ object: 'list', has_more: false, last_id: json.id });
    expect(list.data.map((org: { name: string }) => org.name)).toEqual(['default', 'second', 'third']);
  });

  it('422: rejects an unknown parameter of the list', async () => {
    const { status, json } = await admin('GET', 'orgs?name=third');
    expect([status, json.error.message]).toEqual([422, 'name: unknown parameter; none are known here']);
  });

  it('422: rejects a missing name, a name with a NUL and an unknown field', async () => {
    expect((await admin('POST', 'orgs', {})).json.error.param).toBe('name');
    expect((await admin('POST', 'orgs', { name: 'x', plan: 'gold' })).json.error.param).toBe('plan');
    const { status, json } = await admin('POST', 'orgs', { name: 'a\u0000b' });
    expect([status, json.error.param]).toEqual([422, 'name']);
  });
});

describe('keys', () => {
  it('201: shows the secret once, accepts it, and never stores or lists it', async () => {
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

  it('403: allows no administration with any other scope', async () => {
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

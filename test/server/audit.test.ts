import { afterAll, beforeAll, expect, it } from 'vitest';
import type { AuditEntry } from '../../src/core/audit.ts';
import { createAuditCheck } from '../../src/core/audit-chain.ts';
import { type RunningServer, startServer } from './support/start-server.ts';

let app: RunningServer;
beforeAll(async () => void (app = await startServer()));
afterAll(() => app.stop());

const admin = (method: string, path: string, json?: unknown) =>
  app.call(method, `/v1/admin/${path}`, { key: app.keys.admin, ...(json !== undefined && { json }) });

const list = async (query = ''): Promise<AuditEntry[]> => (await admin('GET', `audit?${query}`)).json.data;

it('200: lists who changed what, when, from where and in which request, without secrets', async () => {
  const org = (await admin('POST', 'orgs', { name: 'audited' })).json.id as string;
  const made = await admin('POST', 'keys', { org_id: org, name: 'ci' });
  const changed = await admin('PATCH', `keys/${made.json.id}`, { priority: 2 });
  await admin('DELETE', `keys/${made.json.id}`);
  const entries = await list('limit=4');
  expect(entries.map(({ action, target }) => [action, target])).toEqual([
    ['key.revoke', made.json.id],
    ['key.update', made.json.id],
    ['key.create', made.json.id],
    ['org.create', org],
  ]);
  const keys = (await admin('GET', 'keys')).json.data as { id: string; name: string; scopes: string[] }[];
  const own = keys.find(({ scopes }) => scopes.join() === 'admin')!;
  expect(entries[1]).toEqual({
    id: expect.stringMatching(/^audit_\d{12}$/),
    object: 'audit_entry',
    at: expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/),
    actor: { key_id: own.id, name: own.name },
    action: 'key.update',
    target: made.json.id,
    before: { priority: 9 },
    after: { priority: 2 },
    address: '127.0.0.1',
    request_id: changed.headers.get('x-request-id'),
    previous_hash: entries[2]!.hash,
    hash: expect.stringMatching(/^[0-9a-f]{64}$/),
  });
  expect(JSON.stringify(entries)).not.toContain(made.json.key);
});

it('records the address of the client behind a trusted proxy only', async () => {
  const addressOf = async (trustedProxies: string[], forwarded: Record<string, string>) => {
    const proxied = await startServer({ trustedProxies });
    const how = { key: proxied.keys.admin, headers: forwarded };
    await proxied.call('POST', '/v1/admin/orgs', { ...how, json: { name: 'x' } });
    const { json } = await proxied.call('GET', '/v1/admin/audit?limit=1', { key: proxied.keys.admin });
    await proxied.stop();
    return json.data[0].address;
  };
  // The client itself sent the first address, and the proxy added the second.
  const forwarded = { 'x-forwarded-for': '192.0.2.1, 203.0.113.9' };
  expect(await addressOf(['127.0.0.1'], forwarded)).toBe('203.0.113.9');
  expect(await addressOf(['10.0.0.0/8'], forwarded)).toBe('127.0.0.1');
  expect(await addressOf(['127.0.0.1'], {})).toBeNull();
});

it('200: filters, and shows a chain that ends at the head', async () => {
  const { json } = await admin('GET', 'audit?order=asc&limit=1000');
  const check = createAuditCheck();
  for (const entry of json.data) check.add(entry);
  expect(check.end()).toBeUndefined();
  expect(json.head).toEqual({ id: json.last_id, hash: json.data.at(-1).hash });
  const [newest] = await list('limit=1');
  expect(await list(`target=${newest!.target}&action=key.revoke`)).toEqual([newest]);
  expect(await list(`actor=key_none`)).toEqual([]);
  expect((await list(`after=${newest!.id}&limit=1`))[0]!.hash).toBe(newest!.previous_hash);
});

it('adds no entry for refused and unsuccessful changes', async () => {
  const [before] = await list('limit=1');
  await admin('PATCH', `orgs/org_${'0'.repeat(32)}`, { name: 'x' });
  await admin('POST', 'orgs', { name: '' });
  await app.call('POST', '/v1/admin/orgs', { json: { name: 'x' } });
  expect((await list('limit=1'))[0]).toEqual(before);
});

it.each([
  ['action=key.destroy', 'action'],
  ['after=org_1', 'after'],
  ['limit=1001', 'limit'],
  ['order=up', 'order'],
  ['since=1', 'since'],
])('422: rejects %s', async (query, param) => {
  const { status, json } = await admin('GET', `audit?${query}`);
  expect([status, json.error.param]).toEqual([422, param]);
});

it('403: needs the scope admin', async () => {
  expect((await app.call('GET', '/v1/admin/audit')).status).toBe(403);
});

import { afterEach, beforeEach, expect, it } from 'vitest';
import type { Engine } from '../../src/engines/engines.ts';
import { createManualClock, type ManualClock } from '../support/manual-clock.ts';
import { type CallOptions, type Json, type RunningServer, startServer } from './support/start-server.ts';

// Limits in force, with their use.

let app: RunningServer;
let clock: ManualClock;
/** Lets the requests end that the engine holds. */
let release: () => void;

beforeEach(async () => {
  clock = createManualClock();
  const { promise, resolve } = Promise.withResolvers<void>();
  release = resolve;
  app = await startServer({
    clock,
    requestLimits: { org: { requestsPerMinute: 60, outputTokensPerMinute: 100_000 } },
    queueLimits: { perOrg: { queuedRequests: 100, queuedTokens: { default: 5_000 } } },
    engine: (scripted) => {
      const generate: Engine['generate'] = async (...call) => {
        if (JSON.stringify(call[0]).includes('[[hold]]')) await promise;
        return scripted.generate(...call);
      };
      return { ...scripted, generate };
    },
  });
});
afterEach(async () => {
  release();
  await app.stop();
});

const chat = (text: string, more: object = {}) =>
  app.call('POST', '/v1/chat/completions', {
    json: { model: 'tiny', messages: [{ role: 'user', content: text }], ...more },
  });
const admin = (method: string, path: string, json?: unknown) =>
  app.call(method, path, { key: app.keys.admin, ...(json !== undefined && { json }) });

/** Limits by owner and name. */
async function read(path = '/v1/limits', how: CallOptions = {}): Promise<Record<string, Json>> {
  const { status, json } = await app.call('GET', path, how);
  expect(status).toBe(200);
  return Object.fromEntries(
    json.data.map((each: Json) => [`${each.owner}.${each.name}${each.model ? `.${each.model}` : ''}`, each]),
  );
}
const ofKey = async () => {
  const { json } = await app.call('GET', '/v1/limits');
  return { orgId: json.org_id as string, keyId: json.key_id as string };
};

it('are those in force, with the defaults of the configuration', async () => {
  const { json } = await app.call('GET', '/v1/limits');
  expect(json).toMatchObject({
    object: 'list',
    org_id: expect.stringMatching(/^org_/),
    org: expect.any(String),
    key_id: expect.stringMatching(/^key_/),
    has_more: false,
  });
  const free = { available_at: null, resets_at: null };
  const of = (name: string, limit: number, model: string | null = null) => ({
    object: 'limit',
    name,
    owner: 'org',
    model,
    limit,
    used: 0,
    remaining: limit,
    ...free,
  });
  expect(json.data).toEqual([
    of('requests_per_minute', 60),
    of('output_tokens_per_minute', 100_000),
    of('open_batches', 1_000),
    of('queued_requests', 100),
    of('queued_tokens', 5_000, 'tiny'),
    of('stored_bytes', 1_000_000_000),
    of('stored_responses', 10_000),
    of('response_bytes', 100_000_000),
  ]);
});

it('show used rates, and when they are free', async () => {
  expect((await chat('hi [[tokens 3]]', { max_tokens: 50 })).status).toBe(200);
  expect(await read()).toMatchObject({
    'org.requests_per_minute': {
      used: 1,
      remaining: 59,
      available_at: null,
      resets_at: '2026-01-01T00:00:01.000Z',
    },
    'org.output_tokens_per_minute': { used: 3, remaining: 99_997, resets_at: '2026-01-01T00:00:00.002Z' },
  });
  for (let at = 0; at < 59; at++) await chat('hi');
  expect(await read()).toMatchObject({
    'org.requests_per_minute': {
      used: 60,
      remaining: 0,
      available_at: '2026-01-01T00:00:01.000Z',
      resets_at: '2026-01-01T00:01:00.000Z',
    },
  });
  const refused = await chat('hi');
  expect([refused.status, refused.headers.get('retry-after')]).toEqual([429, '1']);
  await clock.advance(30_000);
  expect(await read()).toMatchObject({ 'org.requests_per_minute': { used: 30, available_at: null } });
  expect(await read('/v1/limits', { key: app.keys.b })).toMatchObject({
    'org.requests_per_minute': { used: 0 },
  });
});

it('show requests in flight, the queue and the storage, of the org and of the key', async () => {
  const { keyId } = await ofKey();
  const limits = { concurrent_requests: 2, queued_requests: 50, stored_bytes: 9_000, stored_responses: 5 };
  await admin('PATCH', `/v1/admin/keys/${keyId}`, { limits });
  await clock.advance(1_000);
  const held = chat('[[hold]]');
  const used = async () => {
    const uses = await read();
    return Object.fromEntries(Object.entries(uses).map(([name, { used: amount }]) => [name, amount]));
  };
  await expect.poll(async () => (await used())['key.concurrent_requests']).toBe(1);
  const bodies = Array.from({ length: 3 }, (_, at) => ({
    custom_id: `${at}`,
    method: 'POST',
    url: '/v1/chat/completions',
    body: { model: 'tiny', max_tokens: 100, messages: [{ role: 'user', content: '[[hold]]' }] },
  }));
  const endpoint = '/v1/chat/completions';
  const created = await app.call('POST', '/v1/batches', {
    json: { endpoint, completion_window: '24h', requests: bodies },
  });
  expect(created.status).toBe(201);
  const now = await used();
  expect(now).toMatchObject({
    'key.concurrent_requests': 1,
    'org.open_batches': 1,
    'org.queued_requests': 3,
    'key.queued_requests': 3,
    'key.stored_bytes': now['org.stored_bytes'],
    'key.stored_responses': 0,
  });
  expect(now['org.queued_tokens.tiny']).toBeGreaterThan(300);
  expect(now['org.stored_bytes']).toBeGreaterThan(300);
  release();
  await held;
  await chat('hi', { store: true });
  await expect.poll(used).toMatchObject({
    'key.concurrent_requests': 0,
    'org.stored_responses': 1,
    'key.stored_responses': 1,
    'org.response_bytes': expect.any(Number),
  });
  expect((await used())['org.response_bytes']).toBeGreaterThan(0);
});

it('are shown to operators for any org and key, and count the keys of a family together', async () => {
  const { orgId, keyId } = await ofKey();
  await admin('PATCH', `/v1/admin/keys/${keyId}`, { limits: { requests_per_minute: 10 } });
  await clock.advance(1_000);
  for (let at = 0; at < 4; at++) await chat('hi');
  const rotated = await admin('POST', `/v1/admin/keys/${keyId}/rotate`, { overlap: 60 });
  const how = { key: app.keys.admin };
  const uses = { 'org.requests_per_minute': { used: 4 }, 'key.requests_per_minute': { used: 4 } };
  for (const id of [keyId, rotated.json.id as string]) {
    expect(await read(`/v1/admin/keys/${id}/limits`, how)).toMatchObject(uses);
    const { json } = await app.call('GET', `/v1/admin/keys/${id}/limits`, how);
    expect(json).toMatchObject({ org_id: orgId, key_id: id });
  }
  expect(await read('/v1/limits', { key: rotated.json.key as string })).toMatchObject(uses);
  const ofOrg = await app.call('GET', `/v1/admin/orgs/${orgId}/limits`, how);
  expect(ofOrg.json).toMatchObject({ org_id: orgId, key_id: null });
  expect(ofOrg.json.data.map(({ owner }: Json) => owner)).not.toContain('key');
  expect(await read(`/v1/admin/orgs/${orgId}/limits`, how)).toMatchObject({
    'org.requests_per_minute': { used: 4 },
  });
});

it('of others are refused to keys without the scope, and of nobody are not found', async () => {
  const { orgId, keyId } = await ofKey();
  for (const path of [`/v1/admin/orgs/${orgId}/limits`, `/v1/admin/keys/${keyId}/limits`]) {
    expect((await app.call('GET', path)).status).toBe(403);
    const reader = await admin('POST', '/v1/admin/keys', { org_id: orgId, scopes: ['admin:read'] });
    expect((await app.call('GET', path, { key: reader.json.key as string })).status).toBe(200);
  }
  expect((await admin('GET', '/v1/admin/orgs/org_nope/limits')).status).toBe(404);
  expect((await admin('GET', '/v1/admin/keys/key_0199f3a2/limits')).status).toBe(404);
  expect((await app.call('GET', '/v1/limits', { key: null })).status).toBe(401);
  expect((await app.call('GET', '/v1/limits?org=x')).status).toBe(422);
});

it('may be exceeded once they are lowered', async () => {
  const { orgId } = await ofKey();
  for (let at = 0; at < 5; at++) await chat('hi');
  await admin('PATCH', `/v1/admin/orgs/${orgId}`, { limits: { requests_per_minute: 2 } });
  await clock.advance(1_000);
  expect(await read()).toMatchObject({
    'org.requests_per_minute': { limit: 2, used: 5, remaining: 0, available_at: expect.any(String) },
  });
});

import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { serverActor } from '../../src/core/audit.ts';
import { type RunningServer, startServer } from './support/start-server.ts';

let app: RunningServer;
beforeAll(async () => void (app = await startServer()));
afterAll(() => app.stop());

describe('GET /v1/models', () => {
  it('200: one body that both SDK families can read', async () => {
    const { status, json } = await app.call('GET', '/v1/models');
    expect(status).toBe(200);
    expect(json).toMatchObject({ object: 'list', has_more: false, first_id: 'tiny', last_id: 'vectors' });
    expect(json.data[0]).toMatchObject({
      id: 'tiny',
      object: 'model',
      created: 1_700_000_000,
      type: 'model',
      display_name: 'tiny',
      created_at: '2023-11-14T22:13:20Z',
    });
  });
});

describe('the pages of GET /v1/models', () => {
  const page = async (query: string) => {
    const { status, json } = await app.call('GET', `/v1/models?${query}`);
    expect(status, query).toBe(200);
    return [json.data.map(({ id }: { id: string }) => id), json.has_more, json.first_id, json.last_id];
  };
  const [tiny, tagged, vectors] = ['tiny', 'org/model:tag', 'vectors'];

  it('200: from either end, with the cursors of both families', async () => {
    expect(await page('limit=2')).toEqual([[tiny, tagged], true, tiny, tagged]);
    const after = encodeURIComponent(tagged);
    for (const cursor of ['after_id', 'after'])
      expect(await page(`limit=2&${cursor}=${after}`)).toEqual([[vectors], false, vectors, vectors]);
    expect(await page(`limit=1&before_id=${vectors}`)).toEqual([[tagged], true, tagged, tagged]);
    expect(await page(`limit=2&before_id=${vectors}`)).toEqual([[tiny, tagged], false, tiny, tagged]);
    expect(await page(`after_id=${vectors}`)).toEqual([[], false, null, null]);
    expect(await page('')).toEqual([[tiny, tagged, vectors], false, tiny, vectors]);
  });

  it.each([
    ['limit=0', 'limit'],
    ['limit=1001', 'limit'],
    ['after_id=nope', 'after_id'],
    ['before_id=nope', 'before_id'],
    ['before_id=tiny&after_id=tiny', 'before_id'],
    ['after_id=tiny&after_id=tiny', 'after_id'],
  ])('422: %s', async (query, param) => {
    const { status, json } = await app.call('GET', `/v1/models?${query}`);
    expect([status, json.error.param]).toEqual([422, param]);
  });
});

describe('GET /v1/models/{model}', () => {
  it.each(['org%2Fmodel:tag', 'org/model:tag', 'org%2Fmodel%3Atag'])(
    '200: %s, with the slash in any encoding',
    async (id) => {
      expect((await app.call('GET', `/v1/models/${id}`)).json.id).toBe('org/model:tag');
    },
  );

  it('200: an alias returns its model; a query is not part of the name', async () => {
    expect((await app.call('GET', '/v1/models/default?beta=true')).json.id).toBe('tiny');
  });

  it('404: the same answer for an unknown model and one that the key may not use', async () => {
    const unknown = await app.call('GET', '/v1/models/nope');
    expect([unknown.status, unknown.json.error.code]).toEqual([404, 'model_not_found']);
    const [org] = await app.accounts.orgs.list();
    const { key } = await app.accounts.keys.create(serverActor, { orgId: org!.id, models: ['tiny'] });
    const hidden = await app.call('GET', '/v1/models/vectors', { key });
    expect(hidden.status).toBe(404);
    expect(hidden.json.message).toBe(unknown.json.message.replace('nope', 'vectors'));
  });
});

describe('a model that only other processes serve', () => {
  const prices = { input: 100_000_000, cachedInput: 0, output: 0 };
  const theirs = { id: 'theirs', aliases: ['far'], serves: ['chat' as const], prices, createdAt: 0 };
  const other = { interactive: {}, serves: ['theirs', 'far', 'tiny'], models: [theirs] };
  const chat = (model: string, key?: string) =>
    app.call('POST', '/v1/chat/completions', {
      json: { model, messages: [{ role: 'user', content: 'hi' }] },
      ...(key && { key }),
    });

  beforeAll(() => app.peers.update([other]));
  afterAll(() => app.peers.update([]));

  it('200: is listed after local ones, for batches', async () => {
    const { json } = await app.call('GET', '/v1/models');
    expect(
      json.data.map(({ id, batch_only, slots }: Record<string, unknown>) => [id, batch_only, slots]),
    ).toEqual([
      ['tiny', false, 8],
      ['org/model:tag', false, 8],
      ['vectors', false, 8],
      ['theirs', true, null],
    ]);
    expect((await app.call('GET', '/v1/models/far')).json).toMatchObject({ id: 'theirs', batch_only: true });
  });

  it('404: names the processes that serve it, and the models that this process serves to the key', async () => {
    const [org] = await app.accounts.orgs.list();
    const { key } = await app.accounts.keys.create(serverActor, {
      orgId: org!.id,
      models: ['theirs', 'tiny'],
    });
    const { status, json } = await chat('far', key);
    expect([status, json.error.code]).toEqual([404, 'model_not_found']);
    expect(json.error.message).toContain("'theirs' is served by other Offpeak servers");
    expect(json.error.message).toContain("This server has 'tiny'.");
    const hidden = await app.accounts.keys.create(serverActor, { orgId: org!.id, models: ['tiny'] });
    expect((await chat('far', hidden.key)).json.error.code).toBe('model_not_allowed');
  });

  it('201: can be granted to a key', async () => {
    const [org] = await app.accounts.orgs.list();
    const json = { org_id: org!.id, models: ['far'] };
    const made = await app.call('POST', '/v1/admin/keys', { key: app.keys.admin, json });
    expect([made.status, made.json.models]).toEqual([201, ['theirs']]);
  });
});

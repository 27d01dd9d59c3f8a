import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { serverActor } from '../../src/core/audit.ts';
import { eventTypes } from '../../src/core/webhook.ts';
import { startWebhookReceiver } from '../support/webhook-receiver.ts';
import type { WebhookReceiver } from '../support/webhook-receiver.ts';
import { type Json, type RunningServer, startServer } from './support/start-server.ts';

let app: RunningServer;
let receiver: WebhookReceiver;
beforeAll(async () => {
  app = await startServer();
});
afterAll(() => app.stop());
beforeEach(async () => {
  receiver = await startWebhookReceiver();
});
afterEach(async () => {
  for (const { id } of (await app.call('GET', '/v1/webhooks?limit=100')).json.data) await remove(id);
  await receiver.close();
});

const create = (json: object) => app.call('POST', '/v1/webhooks', { json });
const made = async (json: object = { url: receiver.url }): Promise<Json> => (await create(json)).json;
const remove = (id: string) => app.call('DELETE', `/v1/webhooks/${id}`);
const post = (path: string) => app.call('POST', `/v1/webhooks/${path}`);
const patch = (id: string, json: object) => app.call('PATCH', `/v1/webhooks/${id}`, { json });

describe('a webhook', () => {
  it('is created, shown, listed, updated and deleted', async () => {
    const created = await create({ url: receiver.url, name: 'ours', event_types: ['batch.failed'] });
    expect(created.status).toBe(201);
    const { signing_secret: secret, ...shown } = created.json;
    expect(secret).toMatch(/^whsec_[A-Za-z0-9+/]{43}=$/);
    expect(shown).toMatchObject({
      id: expect.stringMatching(/^wh_[0-9a-f]{32}$/),
      object: 'webhook_endpoint',
      name: 'ours',
      url: receiver.url,
      event_types: ['batch.failed'],
      enabled: true,
      disabled_at: null,
      disabled_reason: null,
    });
    expect((await app.call('GET', `/v1/webhooks/${shown.id}`)).json).toEqual(shown);
    expect((await app.call('GET', '/v1/webhooks')).json.data).toEqual([shown]);
    const disabled = await patch(shown.id, { enabled: false, name: 'theirs', url: null });
    expect(disabled.json).toEqual({
      ...shown,
      name: 'theirs',
      enabled: false,
      disabled_at: expect.any(Number),
      disabled_reason: 'Disabled by a request.',
    });
    expect((await patch(shown.id, { enabled: true, name: 'ours' })).json).toEqual(shown);
    expect((await remove(shown.id)).json).toEqual({
      id: shown.id,
      object: 'webhook_endpoint.deleted',
      deleted: true,
    });
    expect((await app.call('GET', `/v1/webhooks/${shown.id}`)).status).toBe(404);
  });

  it('receives all events by default', async () => {
    expect((await made()).event_types).toEqual(eventTypes);
  });

  it('is listed in pages', async () => {
    const ids = [];
    for (let i = 0; i < 3; i++) ids.unshift((await made()).id);
    const first = (await app.call('GET', '/v1/webhooks?limit=2')).json;
    expect([first.data.map((each: Json) => each.id), first.has_more]).toEqual([ids.slice(0, 2), true]);
    const rest = (await app.call('GET', `/v1/webhooks?after=${first.last_id}`)).json;
    expect([rest.data.map((each: Json) => each.id), rest.has_more]).toEqual([ids.slice(2), false]);
    expect((await app.call('GET', '/v1/webhooks?after=batch_1')).status).toBe(422);
  });

  it('C21: has a long secret of the server, shown on creation and rotation only', async () => {
    const webhook = await made();
    const rotated = (await post(`${webhook.id}/rotate`)).json;
    expect(rotated.signing_secret).toMatch(/^whsec_[A-Za-z0-9+/]{43}=$/);
    expect(rotated.signing_secret).not.toBe(webhook.signing_secret);
    await post(`${webhook.id}/test`);
    const texts = [
      await app.call('GET', `/v1/webhooks/${webhook.id}`),
      await app.call('GET', '/v1/webhooks'),
      await patch(webhook.id, { name: 'x' }),
      await post(`${webhook.id}/test`),
      await app.call('GET', `/v1/webhooks/${webhook.id}/deliveries`),
    ].map(({ text }) => text);
    const all = [...texts, JSON.stringify(app.logged)].join('\n');
    expect(all).not.toContain('whsec_');
    for (const { signing_secret: secret } of [webhook, rotated])
      expect(all).not.toContain(secret.slice('whsec_'.length));
  });

  it.each([
    ['http://example.com/'],
    ['https://10.0.0.1/'],
    ['https://[::1]/'],
    ['https://user:word@93.184.216.34/'],
    ['ftp://93.184.216.34/'],
    ['nonsense'],
  ])('is rejected for the URL %s, on creation and update', async (url) => {
    const { id } = await made();
    for (const answer of [await create({ url }), await patch(id, { url })])
      expect([answer.status, answer.json.error.code, answer.json.error.param]).toEqual([
        422,
        'validation_error',
        'url',
      ]);
    expect((await app.call('GET', `/v1/webhooks/${id}`)).json.url).toBe(receiver.url);
  });

  it.each([
    [{}, 'url'],
    [{ url: 1 }, 'url'],
    [{ url: 'https://93.184.216.34/', event_types: [] }, 'event_types'],
    [{ url: 'https://93.184.216.34/', event_types: ['batch.done'] }, 'event_types[0]'],
    [{ url: 'https://93.184.216.34/', secret: 'mine' }, 'secret'],
    [{ url: `https://93.184.216.34/${'a'.repeat(2048)}` }, 'url'],
    [{ url: 'https://93.184.216.34/a\u0000b' }, 'url'],
    [{ url: 'https://93.184.216.34/', name: 'a\u0000b' }, 'name'],
  ])('is rejected: %j', async (json, param) => {
    const answer = await create(json);
    expect([answer.status, answer.json.error.param]).toEqual([422, param]);
  });

  it('requires the scope batches', async () => {
    const { key } = await app.accounts.keys.create(serverActor, {
      orgId: (await app.accounts.orgs.list())[0]!.id,
      scopes: ['inference', 'files'],
    });
    expect((await app.call('GET', '/v1/webhooks', { key })).status).toBe(403);
  });
});

describe('a delivery', () => {
  it('reports the result of a test', async () => {
    const { id } = await made();
    const good = await post(`${id}/test`);
    expect(good.json).toMatchObject({
      object: 'webhook_delivery',
      webhook_id: id,
      event: { object: 'event', type: 'webhook.test', data: { id } },
      status: 'delivered',
      attempts: 1,
      last_status_code: 200,
      last_error: null,
    });
    receiver.answer = (response) => void response.writeHead(500).end();
    const bad = await post(`${id}/test`);
    expect(bad.json).toMatchObject({
      status: 'failed',
      last_status_code: 500,
      last_error: 'The receiver answered 500.',
      next_attempt_at: null,
    });
    expect(receiver.received.map(({ headers }) => headers['webhook-id'])).toEqual([
      good.json.event.id,
      bad.json.event.id,
    ]);
    const listed = (await app.call('GET', `/v1/webhooks/${id}/deliveries`)).json;
    expect(listed.data.map((each: Json) => [each.id, each.status])).toEqual([
      [bad.json.id, 'failed'],
      [good.json.id, 'delivered'],
    ]);
  });

  it('is replayed as the same event', async () => {
    const { id } = await made();
    const tested = (await post(`${id}/test`)).json;
    const replayed = await post(`deliveries/${tested.id}/replay`);
    expect(replayed.status).toBe(201);
    expect(replayed.json).toMatchObject({ status: 'pending', event: tested.event });
    const [first, second] = await receiver.waitFor(2);
    expect([second!.headers['webhook-id'], second!.body]).toEqual([
      first!.headers['webhook-id'],
      first!.body,
    ]);
    await patch(id, { enabled: false });
    const refused = await post(`deliveries/${tested.id}/replay`);
    expect([refused.status, refused.json.error.code]).toEqual([409, 'webhook_disabled']);
  });
});

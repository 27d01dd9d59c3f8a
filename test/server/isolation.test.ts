import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { routes } from '../../src/server/routes/routes.ts';
import { until } from '../support/until.ts';
import { chatLine, chatLines } from './support/jsonl.ts';
import { uploadForm } from './support/multipart.ts';
import { type CallResult, type RunningServer, startServer } from './support/start-server.ts';

/** IDs of objects of org b, by parameter name. */
let app: RunningServer;
let foreign: Record<string, string>;

beforeAll(async () => {
  app = await startServer();
  const key = app.keys.b;
  const { body, headers } = uploadForm(chatLines(1));
  const file = await app.call('POST', '/v1/files', { key, headers, body: body as never });
  const batch = await app.call('POST', '/v1/batches', {
    key,
    json: { endpoint: '/v1/chat/completions', completion_window: '24h', requests: [chatLine(0)] },
  });
  const params = { model: 'tiny', max_tokens: 9, messages: [{ role: 'user', content: 'secret' }] };
  const messages = await app.call('POST', '/v1/messages/batches', {
    key,
    json: { requests: [{ custom_id: 'a', params }] },
  });
  const path = `/v1/messages/batches/${messages.json.id}`;
  await until('the batch ends', async () => {
    return (await app.call('GET', path, { key })).json.processing_status === 'ended';
  });
  const response = await app.call('POST', '/v1/responses', { key, json: { model: 'tiny', input: 'secret' } });
  const conversation = await app.call('POST', '/v1/conversations', {
    key,
    json: { items: [{ role: 'user', content: 'secret' }] },
  });
  const chat = await app.call('POST', '/v1/chat/completions', {
    key,
    json: { model: 'tiny', store: true, messages: [{ role: 'user', content: 'secret' }] },
  });
  const items = await app.call('GET', `/v1/conversations/${conversation.json.id}/items`, { key });
  const webhook = await app.call('POST', '/v1/webhooks', { key, json: { url: 'http://127.0.0.1:9/' } });
  expect([file.status, batch.status, response.status, webhook.status]).toEqual([201, 201, 200, 201]);
  const delivery = await app.call('POST', `/v1/webhooks/${webhook.json.id}/test`, { key });
  const action = await app.call('POST', '/v1/batches/actions', {
    key,
    json: { action: 'pause', ids: [batch.json.id] },
  });
  foreign = {
    file_id: file.json.id,
    batch_id: batch.json.id,
    message_batch_id: messages.json.id,
    response_id: response.json.id,
    conversation_id: conversation.json.id,
    completion_id: chat.json.id,
    item_id: items.json.data[0].id,
    webhook_id: webhook.json.id,
    action_id: action.json.id,
    delivery_id: delivery.json.id,
  };
});
afterAll(() => app.stop());

/** Routes with the ID of an org's object. Keys belong to admins, who see every org. */
const owned = routes.filter((route) => route.id && !route.access.startsWith('admin'));
const parameterOf = (path: string) => /:([^/]+)/.exec(path)?.[1] ?? '';
const unknownOf = (id: string) => id.replace(/[0-9a-f]{32}$/, '0'.repeat(32));

/** Removes what may differ between the answers to a foreign and an unknown ID: the request ID and the time. */
function withoutId(answer: CallResult): unknown {
  const id = answer.headers.get('x-request-id') ?? '';
  const headers = Array.from(answer.headers)
    .filter(([name]) => name !== 'date')
    .map(([name, value]) => [name, value.replace(id, '')]);
  return { status: answer.status, headers, text: answer.text.replace(id, '') };
}

describe('C05, C06: the ID of an object of another org', () => {
  it('is covered by the fixture on every such route', () => {
    expect(owned.length).toBeGreaterThanOrEqual(7);
    for (const { path } of owned)
      expect(foreign, `nothing of org b for ${path}`).toHaveProperty(parameterOf(path));
  });

  it.each(owned.map((route) => [`${route.method} ${route.path}`, route] as const))(
    '404: %s answers as for an unknown ID and changes nothing',
    async (_name, { method, path, body }) => {
      const how = body ? { json: {} } : {};
      const id = foreign[parameterOf(path)]!;
      const at = (other: string) =>
        path
          .replace(/:[^/]+/, other)
          .replace(':item_id', foreign['item_id']!)
          .replace(':line', '1');
      const answer = await app.call(method, at(id), how);
      expect(answer.status).toBe(404);
      expect(withoutId(answer)).toEqual(withoutId(await app.call(method, at(unknownOf(id)), how)));
      if (method === 'GET') {
        const head = await app.call('HEAD', at(id));
        expect(withoutId(head)).toEqual(withoutId(await app.call('HEAD', at(unknownOf(id)))));
        expect((await app.call('GET', at(id), { key: app.keys.b })).status).toBe(200);
      }
    },
  );

  it('appears in no list', async () => {
    for (const list of [
      '/v1/files',
      '/v1/batches',
      '/v1/messages/batches',
      '/v1/webhooks',
      '/v1/chat/completions',
      `/v1/files?order=asc&limit=10000`,
    ]) {
      expect((await app.call('GET', list)).json.data).toEqual([]);
      expect((await app.call('GET', list, { key: app.keys.b })).json.data.length).toBeGreaterThan(0);
    }
  });

  it('does not work as a cursor', async () => {
    const id = foreign['file_id']!;
    expect((await app.call('GET', `/v1/files?after=${id}`)).json.data).toEqual([]);
    expect((await app.call('GET', `/v1/files?order=asc&after=${id}`)).json.data).toEqual([]);
  });

  it('cannot be the input of a batch', async () => {
    const body = { endpoint: '/v1/chat/completions', completion_window: '24h' };
    const create = (id: string) => app.call('POST', '/v1/batches', { json: { ...body, input_file_id: id } });
    const answer = await create(foreign['file_id']!);
    expect(answer.status).toBe(422);
    expect(withoutId(answer)).toEqual(withoutId(await create(unknownOf(foreign['file_id']!))));
  });

  it('cannot be continued or referenced by a response', async () => {
    const create = (more: object) =>
      app.call('POST', '/v1/responses', { json: { model: 'tiny', input: 'x', ...more } });
    const id = foreign['response_id']!;
    const answer = await create({ previous_response_id: id });
    expect([answer.status, answer.json.error.code]).toEqual([404, 'previous_response_not_found']);
    expect(withoutId(answer)).toEqual(withoutId(await create({ previous_response_id: unknownOf(id) })));
    const inOne = await create({ conversation: foreign['conversation_id']! });
    expect([inOne.status, inOne.json.error.param]).toEqual([404, 'conversation']);
    const item = id.replace('resp_', 'msg_');
    const refer = (to: string) => create({ input: [{ type: 'item_reference', id: to }] });
    const referred = await refer(`${item}0000`);
    expect(referred.status).toBe(404);
    expect(withoutId(referred)).toEqual(withoutId(await refer(`${unknownOf(item)}0000`)));
  });

  it('still works for its own org, unchanged', async () => {
    const file = await app.call('GET', `/v1/files/${foreign['file_id']}`, { key: app.keys.b });
    const batch = await app.call('GET', `/v1/batches/${foreign['batch_id']}`, { key: app.keys.b });
    expect([file.status, batch.json.cancelling_at]).toEqual([200, null]);
  });
});

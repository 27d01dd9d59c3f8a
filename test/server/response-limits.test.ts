import { storedBytes } from '../store/fixtures.ts';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { pageBytes } from '../../src/responses/page.ts';
import type { ChatRequest } from '../../src/wire/chat/chat.ts';
import { type Json, type RunningServer, startServer } from './support/start-server.ts';

// Small requests can create large stored data; these limits bound it.
const path = '/v1/responses';
const limits = { conversationBytes: 100_000, responseBytesPerOrg: 300_000 };
const kilobytes = (n: number) => 'x'.repeat(n * 1_000);
let app: RunningServer;
let asked: ChatRequest[];

beforeEach(async () => {
  asked = [];
  app = await startServer({
    limits,
    engine: (scripted) => ({
      ...scripted,
      generate(request, call) {
        asked.push(request.value);
        return scripted.generate(request, call);
      },
    }),
  });
});
afterEach(() => app.stop());

const post = (input: unknown, more: object = {}, key = app.keys.a) =>
  app.call('POST', path, { json: { model: 'tiny', input, ...more }, key });
const ok = async (...args: Parameters<typeof post>): Promise<Json> => {
  const { status, json } = await post(...args);
  expect(status, JSON.stringify(json)).toBe(200);
  return json;
};
const orgA = async () => (await app.accounts.orgs.list())[0]!.id;
const inputsOf = async (id: string): Promise<Json[]> =>
  (await app.call('GET', `${path}/${id}/input_items?order=asc`)).json.data;
const refer = (id: string, times = 1) =>
  Array.from({ length: times }, () => ({ type: 'item_reference', id }));
const question = { role: 'user', content: 'What? [[tokens 1]]' };

describe('references', () => {
  it('are stored as sent, and resolved when read', async () => {
    const first = await ok(`${kilobytes(20)} [[tokens 1]]`);
    const [item] = await inputsOf(first.id);
    const before = await storedBytes(app.store, await orgA());
    const second = await ok([...refer(item.id, 3), question]);
    expect(await storedBytes(app.store, await orgA())).toBeLessThan(before + 4_000);
    expect(asked.at(-1)!.messages.map(({ content }) => content!.length)).toEqual([
      20_013, 20_013, 20_013, 18,
    ]);
    expect((await inputsOf(second.id)).slice(0, 3)).toEqual([item, item, item]);

    await ok('And? [[tokens 1]]', { previous_response_id: second.id });
    expect(asked.at(-1)!.messages.slice(0, 3)).toEqual(asked.at(-2)!.messages.slice(0, 3));
    // To an output, and to a response in the same conversation.
    await ok([...refer(second.output[0].id), question], { previous_response_id: second.id });
    expect(asked.at(-1)!.messages.at(-2)).toEqual({
      role: 'assistant',
      content: second.output[0].content[0].text,
    });
  });

  it('count as often as they occur, before anything is loaded', async () => {
    const first = await ok(`${kilobytes(20)} [[tokens 1]]`);
    const [item] = await inputsOf(first.id);
    for (const count of [5, 60, 1_500]) {
      const { status, json } = await post([...refer(item.id, count), question]);
      expect([status, json.error.code]).toEqual([422, 'validation_error']);
      expect(json.error.param).toBe(count === 1_500 ? 'input' : 'input[4].id');
      expect(json.error.message).toMatch(/more than 100000 bytes.*send only/);
    }
    expect(asked.length).toBe(1);
    const counted = await app.call('POST', `${path}/input_tokens`, {
      json: { model: 'tiny', input: [...refer(item.id, 60), question] },
    });
    expect(counted.status).toBe(422);
  });

  it('count with the conversation that contains them, and in those that continue it', async () => {
    const first = await ok(`${kilobytes(20)} [[tokens 1]]`);
    const [item] = await inputsOf(first.id);
    const second = await ok([...refer(item.id, 3), question]);
    expect((await post(refer(item.id, 2), { previous_response_id: second.id })).json.error.param).toBe(
      'input[1].id',
    );
    const third = await ok([...refer(item.id, 1), question], { previous_response_id: second.id });
    const texts = vi.spyOn(app.store.responses, 'texts');
    const { status, json } = await post(kilobytes(20), { previous_response_id: third.id });
    expect([status, json.error.param]).toEqual([422, 'previous_response_id']);
    expect(texts).not.toHaveBeenCalled();
  });

  it('to deleted items break the conversation', async () => {
    const first = await ok('Milk. [[tokens 1]]');
    const second = await ok([...refer(first.output[0].id), question]);
    await app.call('DELETE', `${path}/${first.id}`);
    const { status, json } = await post('And?', { previous_response_id: second.id });
    expect([status, json.error.code]).toEqual([404, 'previous_response_not_found']);
    expect((await inputsOf(second.id))[0]).toEqual({ type: 'item_reference', id: first.output[0].id });
  });
});

describe('a conversation', () => {
  it('is rejected by its size when it is too large, with a remedy', async () => {
    let previous_response_id: string | undefined;
    for (let n = 0; n < 4; n++)
      previous_response_id = (await ok(`${kilobytes(22)} [[tokens 1]]`, { previous_response_id })).id;
    const texts = vi.spyOn(app.store.responses, 'texts');
    const { status, json } = await post(kilobytes(22), { previous_response_id });
    expect([status, json.error.param]).toEqual([422, 'previous_response_id']);
    expect(json.error.message).toMatch(/more than 100000 bytes.*limits\.conversation_bytes.*send only/);
    expect(texts).not.toHaveBeenCalled();
    await ok('a little more [[tokens 1]]', { previous_response_id });
  });

  it('cannot be stored larger than a request may load, with a remedy', async () => {
    const conversations = '/v1/conversations';
    const items = [{ role: 'user', content: kilobytes(45) }];
    const { id } = (await app.call('POST', conversations, { json: { items } })).json;
    const add = () => app.call('POST', `${conversations}/${id}/items`, { json: { items } });
    expect((await add()).status).toBe(200);
    const { status, json } = await add();
    expect([status, json.error.code, json.error.param]).toEqual([422, 'validation_error', 'items']);
    expect(json.error.message).toMatch(/more than 100000 bytes.*limits\.conversation_bytes.*remove items/);
    const { data } = (await app.call('GET', `${conversations}/${id}/items`)).json;
    expect(data).toHaveLength(2);
    // A page ends when its bytes are used up.
    const sizes = vi.spyOn(app.store.conversations, 'sizes');
    sizes.mockResolvedValueOnce([{ bytes: pageBytes }, { bytes: 1 }]);
    const cut = (await app.call('GET', `${conversations}/${id}/items`)).json;
    expect(cut).toMatchObject({ data: [{ id: data[0].id }], last_id: data[0].id, has_more: true });
    await app.call('DELETE', `${conversations}/${id}/items/${data[0].id}`);
    expect((await add()).status).toBe(200);
    const large = [{ role: 'user', content: kilobytes(101) }];
    expect((await app.call('POST', conversations, { json: { items: large } })).status).toBe(422);
    // An invalid item ID causes no database lookup.
    for (const method of ['item', 'removeItem', 'positionOf'] as const)
      vi.spyOn(app.store.conversations, method).mockRejectedValue(new Error('asked'));
    const nothing = `${conversations}/${id}/items/%00`;
    expect((await app.call('GET', nothing)).status).toBe(404);
    expect((await app.call('DELETE', nothing)).status).toBe(404);
    for (const after of ['%00', 'x'])
      expect((await app.call('GET', `${conversations}/${id}/items?after=${after}`)).status).toBe(422);
  });

  it('does not count the tools and instructions of its requests', async () => {
    const tools = [{ type: 'function', name: 'f', description: kilobytes(30), parameters: {} }];
    let previous_response_id: string | undefined;
    for (let n = 0; n < 5; n++)
      previous_response_id = (await ok('a [[tokens 1]]', { tools, previous_response_id })).id;
  });

  it('waits while its org has too much in memory, without delaying other orgs', async () => {
    const large = `${kilobytes(90)} [[tokens 1]]`;
    const of = async (key: string) => (await ok(large, {}, key)).id as string;
    const [a, b] = [await of(app.keys.a), await of(app.keys.b)];
    const held = () => app.engine.stats().running;
    const hang = (previous_response_id: string, key: string) => {
      const gone = new AbortController();
      const body = JSON.stringify({ model: 'tiny', input: '[[hang]]', store: false, previous_response_id });
      const headers = { authorization: `Bearer ${key}`, 'content-type': 'application/json' };
      fetch(app.url + path, { method: 'POST', body, headers, signal: gone.signal }).catch(() => {});
      return () => gone.abort();
    };
    const texts = vi.spyOn(app.store.responses, 'texts');
    const leaves = Array.from({ length: 7 }, () => hang(a, app.keys.a));
    await expect.poll(held).toBe(4);
    await ok('[[tokens 1]]', { previous_response_id: b, store: false }, app.keys.b);
    await ok('[[tokens 1]] alone', { store: false });
    expect(texts).toHaveBeenCalledTimes(2 * 5);
    for (const leave of leaves.slice(0, 4)) leave();
    await expect.poll(() => texts.mock.calls.length).toBe(2 * 8);
    await expect.poll(held).toBe(3);
    for (const leave of leaves.slice(4)) leave();
    await expect.poll(held).toBe(0);
  });
});

describe('stored responses of an org', () => {
  it('are rejected over the quota, with a remedy, until there is room', async () => {
    const kept: string[] = [];
    for (let n = 0; n < 3; n++) kept.push((await ok(`${kilobytes(90)} [[tokens 1]]`)).id);
    const over = await post(`${kilobytes(90)} [[tokens 1]]`);
    expect([over.status, over.json.error.code, over.json.error.type]).toEqual([
      402,
      'storage_quota_exceeded',
      'insufficient_quota',
    ]);
    expect(over.json.error.message).toMatch(/of 300000 bytes.*Delete.*store: false/);
    expect((await post(kilobytes(90), { background: true })).status).toBe(402);
    expect(asked.length).toBe(3);
    await ok(`${kilobytes(90)} [[tokens 1]]`, { store: false });
    await ok(`${kilobytes(90)} [[tokens 1]]`, {}, app.keys.b);
    await app.call('DELETE', `${path}/${kept[0]}`);
    await ok(`${kilobytes(90)} [[tokens 1]]`);
  });

  it('count while they are created', async () => {
    const answers = await Promise.all(Array.from({ length: 5 }, () => post(`${kilobytes(90)} [[tokens 1]]`)));
    expect(answers.filter(({ status }) => status === 200).length).toBe(3);
    expect(answers.map(({ status }) => status)).toContain(402);
    expect(await storedBytes(app.store, await orgA())).toBeLessThan(300_000);
  });

  it('are limited in number, for the org and for each key (attack 4)', async () => {
    const few = await startServer({ limits: { storedResponses: 4 } });
    const created = async (json: object, to = path) => {
      const answer = await few.call('POST', to, { json });
      expect(['', 'storage_quota_exceeded']).toContain(answer.json.error?.code ?? '');
      return [answer.status, answer.json.id];
    };
    const response = () => created({ model: 'tiny', input: 'a [[tokens 1]]' });
    const messages = [{ role: 'user', content: 'a [[tokens 1]]' }];
    const chat = (store = true) => created({ model: 'tiny', messages, store }, '/v1/chat/completions');
    const conversation = (items: number) =>
      created({ items: Array.from({ length: items }, () => question) }, '/v1/conversations');
    const [, first] = await response();
    await chat();
    // A conversation counts with its items.
    expect((await conversation(2))[0]).toBe(402);
    const [, another] = await conversation(1);
    for (const create of [response, chat, () => conversation(0)]) expect((await create())[0]).toBe(402);
    expect((await chat(false))[0]).toBe(200);
    await few.call('DELETE', `/v1/conversations/${another}`);
    expect((await conversation(1))[0]).toBe(200);
    await few.call('DELETE', `${path}/${first}`);
    expect((await response())[0]).toBe(200);
    const orgB = (await few.accounts.orgs.list())[1]!.id;
    const [keyB] = await few.store.keys.list(orgB);
    await few.store.orgs.update(orgB, { limits: { storedResponses: 9 } }, Date.now());
    await few.store.keys.update(keyB!.id, { limits: { storedResponses: 2 } }, Date.now());
    const ofB = () =>
      few.call('POST', path, { key: few.keys.b, json: { model: 'tiny', input: 'a [[tokens 1]]' } });
    const statuses = [await ofB(), await ofB(), await ofB()].map(({ status }) => status);
    expect(statuses).toEqual([200, 200, 402]);
    await few.stop();
  });

  it('are limited for a key that adds to the conversation of another one', async () => {
    const other = await startServer();
    const orgId = (await other.accounts.orgs.list())[0]!.id;
    const limited = (
      await other.call('POST', '/v1/admin/keys', {
        key: other.keys.admin,
        json: { org_id: orgId, limits: { stored_responses: 2 } },
      })
    ).json.key;
    const made = await other.call('POST', '/v1/conversations', { json: {} });
    const add = (key: string) =>
      other.call('POST', `/v1/conversations/${made.json.id}/items`, { key, json: { items: [question] } });
    const statuses = [await add(limited), await add(limited), await add(limited)].map(({ status }) => status);
    expect(statuses).toEqual([200, 200, 402]);
    expect((await add(other.keys.a)).status).toBe(200);
    await other.stop();
  });

  it('are limited for a rotated key and its successor together', async () => {
    const other = await startServer();
    const admin = (to: string, json: object) =>
      other.call('POST', `/v1/admin/keys${to}`, { key: other.keys.admin, json });
    const orgId = (await other.accounts.orgs.list())[0]!.id;
    const old = (await admin('', { org_id: orgId, limits: { stored_responses: 3, stored_bytes: 200 } })).json;
    const made = await other.call('POST', '/v1/conversations', { key: old.key, json: {} });
    const add = async (key: string) => {
      const to = `/v1/conversations/${made.json.id}/items`;
      return (await other.call('POST', to, { key, json: { items: [question] } })).status;
    };
    const upload = async (key: string) => {
      const form = new FormData();
      form.set('purpose', 'batch');
      const body = { model: 'tiny', messages: [question] };
      const line = JSON.stringify({ custom_id: 'a', method: 'POST', url: '/v1/chat/completions', body });
      form.set('file', new Blob([`${line}\n`]), 'a.jsonl');
      return (await other.call('POST', '/v1/files', { key, body: form })).status;
    };
    expect([await add(old.key), await upload(old.key)]).toEqual([200, 201]);
    const next = (await admin(`/${old.id}/rotate`, { overlap: 3_600 })).json;
    expect([await add(next.key), await add(next.key), await add(old.key)]).toEqual([200, 402, 402]);
    expect([await upload(next.key), await upload(old.key)]).toEqual([402, 402]);
    await other.stop();
  });

  it('return the space of failed requests', async () => {
    for (let n = 0; n < 5; n++) expect((await post(`${kilobytes(90)} [[fail 500]]`)).status).toBe(502);
    for (let n = 0; n < 5; n++) expect((await post(refer('msg_nothing'), {})).status).toBe(404);
    await ok(`${kilobytes(90)} [[tokens 1]]`);
  });
});

it('background responses have limited memory, half of it for one org', async () => {
  const hang = (key: string) => post(`[[hang]] ${kilobytes(250)}`, { background: true }, key);
  const roomy = await startServer({ limits: { conversationBytes: 100_000 } });
  await app.stop();
  app = roomy;
  const started: Record<string, Json[]> = { a: [], b: [] };
  for (const org of ['a', 'b'] as const) {
    for (let n = 0; n < 3; n++) started[org]!.push(await hang(app.keys[org]));
    const answers = started[org]!;
    expect(answers.map(({ status }) => status)).toEqual([200, 200, 200]);
    const over = await hang(app.keys[org]);
    expect([over.status, over.json.error.code]).toEqual([429, 'rate_limit_exceeded']);
    expect(over.headers.get('retry-after')).toBe('5');
  }
  await app.call('POST', `${path}/${started['a']![0].json.id}/cancel`);
  await expect.poll(async () => (await hang(app.keys.a)).status).toBe(200);
});

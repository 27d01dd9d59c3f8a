import { createParser } from 'eventsource-parser';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { serverActor } from '../../src/core/audit.ts';
import { chatLine } from './support/jsonl.ts';
import { type Json, type RunningServer, startServer } from './support/start-server.ts';
import { until } from '../support/until.ts';

let app: RunningServer;
beforeAll(async () => void (app = await startServer()));
afterAll(() => app.stop());

interface Event {
  id: string | undefined;
  event: string | undefined;
  data: Json;
}

/** An open stream, and the events that it got. */
async function open(
  path: string,
  { key = app.keys.a, headers = {} }: { key?: string; headers?: object } = {},
) {
  const gone = new AbortController();
  const response = await fetch(`${app.url}${path}`, {
    headers: { authorization: `Bearer ${key}`, ...headers },
    signal: gone.signal,
  });
  expect([response.status, response.headers.get('content-type')]).toEqual([
    200,
    'text/event-stream; charset=utf-8',
  ]);
  const events: Event[] = [];
  const parser = createParser({
    onEvent: ({ id, event, data }) => events.push({ id, event, data: JSON.parse(data) }),
  });
  const decoder = new TextDecoder();
  const ended = (async () => {
    for await (const part of response.body!) parser.feed(decoder.decode(part, { stream: true }));
  })().catch(() => {});
  const last = (id: string) => events.findLast(({ data }) => data.id === id)?.data;
  return { events, last, ended, leave: () => (gone.abort(), ended) };
}

const create = async (content = 'hi', key = app.keys.a, metadata: object = {}): Promise<string> => {
  const requests = [chatLine(0, 'tiny', content)];
  const json = { endpoint: '/v1/chat/completions', completion_window: '24h', requests, metadata };
  return (await app.call('POST', '/v1/batches', { key, json })).json.id;
};
/** A batch of `/v1/messages/batches`, which alone can be deleted. */
const createMessages = async (key = app.keys.a): Promise<string> => {
  const params = { model: 'tiny', max_tokens: 9, messages: [{ role: 'user', content: 'hi' }] };
  const json = { requests: [{ custom_id: 'a', params }] };
  return (await app.call('POST', '/v1/messages/batches', { key, json })).json.id;
};
const deleteBatch = async (id: string, key = app.keys.a): Promise<void> => {
  const { status } = await app.call('DELETE', `/v1/messages/batches/${id}`, { key });
  expect(status).toBe(200);
};
const statusOf = (json: Json) => json?.status;

describe('GET /v1/batches/events', () => {
  it('begins with ready, then sends each change of the batches of the org, as the list has them', async () => {
    const { events, last, leave } = await open('/v1/batches/events');
    await until('ready', () => events.length === 1);
    expect(events[0]).toMatchObject({ event: 'ready', data: { object: 'batch.stream', complete: false } });
    const foreign = await create('hi', app.keys.b);
    const ids = [await create(), await create('[[fail 400]]')];
    for (const id of ids) await until('it has ended', () => statusOf(last(id)) === 'completed');
    expect(last(ids[0]!)).toEqual((await app.call('GET', `/v1/batches/${ids[0]}`)).json);
    expect(last(foreign)).toBeUndefined();
    expect(events.every(({ id }) => id !== undefined)).toBe(true);
    await leave();
  });

  it('continues after the last event, by header or parameter, and says so if it cannot', async () => {
    const first = await open('/v1/batches/events');
    const before = await create();
    await until('it has ended', () => statusOf(first.last(before)) === 'completed');
    const { id } = first.events.at(-1)!;
    await first.leave();
    const between = await create();
    await until(
      'it has ended',
      async () => statusOf((await app.call('GET', `/v1/batches/${between}`)).json) === 'completed',
    );
    const streams = [
      await open('/v1/batches/events', { headers: { 'last-event-id': id! } }),
      await open(`/v1/batches/events?last_event_id=${id}`),
    ];
    for (const { events, last, leave } of streams) {
      await until('the missed change', () => statusOf(last(between)) === 'completed');
      expect(events[0]).toMatchObject({ event: 'ready', data: { complete: true } });
      expect(last(before)).toBeUndefined();
      await leave();
    }
    const other = await open('/v1/batches/events', { headers: { 'last-event-id': 'wrk_other.7' } });
    await until('ready', () => other.events.length === 1);
    expect(other.events[0]!.data.complete).toBe(false);
    await other.leave();
  });

  it('tells of a deletion, to streams with filters, too, and to no other org', async () => {
    const [own, filtered, foreign] = [
      await open('/v1/batches/events'),
      await open('/v1/batches/events?q=nothing'),
      await open('/v1/batches/events', { key: app.keys.b }),
    ];
    const [id, other] = [await createMessages(), await createMessages(app.keys.b)];
    for (const [stream, each] of [
      [own, id],
      [foreign, other],
    ] as const)
      await until('it has ended', () => statusOf(stream.last(each)) === 'completed');
    await deleteBatch(id);
    for (const { events } of [own, filtered]) {
      await until('the deletion', () => events.at(-1)!.event === 'deleted');
      expect(events.at(-1)!.data).toEqual({ id, object: 'batch', deleted: true });
    }
    await deleteBatch(other, app.keys.b);
    await until('its own deletion', () => foreign.events.at(-1)!.event === 'deleted');
    expect(foreign.last(id)).toBeUndefined();
    await Promise.all([own, filtered, foreign].map(({ leave }) => leave()));
  });

  it('takes the filters of the list', async () => {
    const named = await open('/v1/batches/events?q=night&status=completed');
    const ids = [await create(), await create('hi', app.keys.a, { name: 'Nightly\r\n' })];
    await until('it has ended', () => statusOf(named.last(ids[1]!)) === 'completed');
    expect(named.last(ids[0]!)).toBeUndefined();
    await named.leave();
    for (const query of ['status=x', 'org=default', 'limit=5', `last_event_id=${'x'.repeat(101)}`]) {
      const { status, json } = await app.call('GET', `/v1/batches/events?${query}`);
      expect([status, json.error.param]).toEqual([422, query.split('=')[0]]);
    }
  });

  it('ends with an error when the key is revoked', async () => {
    const [org] = await app.accounts.orgs.list();
    const { key, apiKey } = await app.accounts.keys.create(serverActor, {
      orgId: org!.id,
      scopes: ['batches:read'],
    });
    const { events, ended } = await open('/v1/batches/events', { key });
    await until('ready', () => events.length === 1);
    await app.accounts.keys.revoke(serverActor, apiKey.id);
    await create();
    await ended;
    expect(events.at(-1)).toMatchObject({ event: 'error', data: { error: { code: 'invalid_api_key' } } });
    expect(events).toHaveLength(2);
  });
});

describe('GET /v1/admin/batches/events', () => {
  it('sends the changes of all orgs with the org of each, or of one org', async () => {
    const key = app.keys.admin;
    const all = await open('/v1/admin/batches/events', { key });
    const second = await open('/v1/admin/batches/events?org=second', { key });
    const ids = [await create(), await create('hi', app.keys.b)];
    for (const id of ids) await until('it has ended', () => statusOf(all.last(id)) === 'completed');
    await until('it has ended', () => statusOf(second.last(ids[1]!)) === 'completed');
    expect(ids.map((id) => all.last(id).org)).toEqual(['default', 'second']);
    expect(all.last(ids[0]!)).toEqual((await app.call('GET', `/v1/admin/batches/${ids[0]}`, { key })).json);
    expect(second.last(ids[0]!)).toBeUndefined();
    await Promise.all([all.leave(), second.leave()]);
  });
});

describe('GET /v1/batches/{id}/history', () => {
  it('200: has the states and the counts of a finished batch', async () => {
    const id = await create();
    await until(
      'it has ended',
      async () => statusOf((await app.call('GET', `/v1/batches/${id}`)).json) === 'completed',
    );
    const { status, json } = await app.call('GET', `/v1/batches/${id}/history`);
    const batch = (await app.call('GET', `/v1/batches/${id}`)).json;
    expect(status).toBe(200);
    expect(json).toMatchObject({ object: 'batch.history', id, waits: [], omitted_waits: 0 });
    expect(json.states).toEqual([
      { status: 'validating', at: batch.created_at },
      { status: 'in_progress', at: batch.in_progress_at },
      { status: 'completed', at: batch.completed_at },
    ]);
    expect(json.points.at(0)).toMatchObject({ at: batch.in_progress_at, completed: 0 });
    expect(json.points.at(-1)).toEqual({
      at: batch.completed_at,
      completed: 1,
      failed: 0,
      input_tokens: batch.usage.input_tokens,
      output_tokens: batch.usage.output_tokens,
    });
    const ofAdmin = await app.call('GET', `/v1/admin/batches/${id}/history`, { key: app.keys.admin });
    expect(ofAdmin.json).toEqual(json);
  });

  it('404: a batch of another org', async () => {
    const id = await create('hi', app.keys.b);
    const { status, json } = await app.call('GET', `/v1/batches/${id}/history`);
    expect([status, json.error.code]).toEqual([404, 'not_found']);
  });
});

import { createParser } from 'eventsource-parser';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startApp, testModel, upstreamEngine } from '../support/app.ts';
import { chatLines } from '../support/batch-lines.ts';
import { chatLine } from './support/jsonl.ts';
import { type Json, type RunningServer, startServer } from './support/start-server.ts';

let app: RunningServer;
beforeAll(async () => void (app = await startServer()));
afterAll(() => app.stop());

const create = async (contents: string[]): Promise<Json> => {
  const requests = contents.map((content, n) => chatLine(n, 'tiny', content));
  const json = { endpoint: '/v1/chat/completions', completion_window: '24h', requests };
  return (await app.call('POST', '/v1/batches', { json })).json;
};

interface Event {
  event: string | undefined;
  data: Json;
}

/** Yields the events of a stream as they arrive. */
async function* eventsOf(
  id: string,
  { url, key } = { url: app.url, key: app.keys.a },
): AsyncGenerator<Event> {
  const response = await fetch(`${url}/v1/batches/${id}/events`, {
    headers: { authorization: `Bearer ${key}` },
  });
  expect(response.headers.get('content-type')).toMatch(/^text\/event-stream/);
  const ready: Event[] = [];
  const onEvent = ({ event, data }: { event?: string | undefined; data: string }) =>
    ready.push({ event, data: JSON.parse(data) });
  const parser = createParser({ onEvent });
  const decoder = new TextDecoder();
  for await (const bytes of response.body!) {
    parser.feed(decoder.decode(bytes, { stream: true }));
    yield* ready.splice(0);
  }
}

async function collect(events: AsyncIterable<Event>): Promise<Event[]> {
  const collected: Event[] = [];
  for await (const event of events) collected.push(event);
  return collected;
}

describe('GET /v1/batches/{id}/events', () => {
  it('sends the current batch at once, then its changes, and ends with the final status', async () => {
    const { id } = await create(['quick', '[[delay 1200]] slow', '[[fail 400]]']);
    const seen: Json[] = [];
    for await (const { event, data } of eventsOf(id)) {
      expect(event).toBe('batch');
      seen.push(data);
    }
    expect(seen.length).toBeGreaterThan(1);
    expect(seen.slice(0, -1).every(({ status }) => status !== 'completed')).toBe(true);
    expect(seen.at(-1)).toMatchObject({ status: 'completed', request_counts: { completed: 2, failed: 1 } });
    const { json } = await app.call('GET', `/v1/batches/${id}`);
    expect(seen.at(-1)).toEqual(json);
    const again = await collect(eventsOf(id));
    expect(again.map(({ data }) => data)).toEqual([json]);
  });

  it('writes each event on one line, even if the metadata has several', async () => {
    const line = JSON.stringify(chatLine(0));
    const body = `{"endpoint":"/v1/chat/completions","completion_window":"24h","requests":[${line}],"metadata":{\r\n"a": 1.10,\n\n"b": "x\\ny"}}`;
    const headers = { 'content-type': 'application/json' };
    const { json } = await app.call('POST', '/v1/batches', { body, headers });
    const events = await collect(eventsOf(json.id));
    expect(events.at(-1)!.data.metadata).toEqual({ a: 1.1, b: 'x\ny' });
  });

  it('404 for an unknown id and one of another org; HEAD returns at once', async () => {
    const { id } = await create(['[[hang]]']);
    const foreign = await app.call('GET', `/v1/batches/${id}/events`, { key: app.keys.b });
    expect([foreign.status, foreign.json.error.code]).toEqual([404, 'not_found']);
    const head = await app.call('HEAD', `/v1/batches/${id}/events`);
    expect([head.status, head.text]).toEqual([200, '']);
    expect(head.headers.get('content-type')).toMatch(/^text\/event-stream/);
    await app.call('POST', `/v1/batches/${id}/cancel`);
  });

  it('ends with an error when the key is revoked', async () => {
    const admin = (method: string, path: string, json?: object) =>
      app.call(method, path, { key: app.keys.admin, ...(json && { json }) });
    const { json: orgs } = await admin('GET', '/v1/admin/orgs');
    const { json: made } = await admin('POST', '/v1/admin/keys', { org_id: orgs.data[0].id });
    const { id } = await create(['[[hang]]']);
    const events = eventsOf(id, { url: app.url, key: made.key });
    expect((await events.next()).value).toMatchObject({ event: 'batch' });
    await admin('DELETE', `/v1/admin/keys/${made.id}`);
    await app.call('POST', `/v1/batches/${id}/cancel`);
    const rest = await collect(events);
    expect(rest.at(-1)).toMatchObject({ event: 'error', data: { error: { code: 'invalid_api_key' } } });
    expect(rest.filter(({ data }) => data.status === 'cancelled')).toEqual([]);
  });

  it('ends all streams with a reason when the server stops, without delaying the stop', async () => {
    const models = [testModel(upstreamEngine('http://127.0.0.1:1/v1'))];
    const other = await startApp({ models, drainMs: 600_000 });
    const { id } = await other.api.createBatch({ requests: chatLines(1) });
    const streams = Array.from({ length: 20 }, () => eventsOf(id, { url: other.url, key: other.key }));
    await Promise.all(streams.map((stream) => stream.next()));
    const rest = Promise.all(streams.map(collect));
    await other.stop();
    for (const events of await rest)
      expect(events.at(-1)).toMatchObject({ event: 'error', data: { error: { code: 'shutting_down' } } });
  });
});

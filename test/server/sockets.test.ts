import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { serverActor } from '../../src/core/audit.ts';
import type { NewKey } from '../../src/core/org.ts';
import { openRaw, sendRaw } from './support/raw-http.ts';
import { type Json, type RunningServer, startServer } from './support/start-server.ts';

// Responses over a WebSocket.

let app: RunningServer;
beforeAll(async () => {
  app = await startServer({ drainMs: 5_000 });
});
afterAll(() => app.stop());

interface Client {
  send(message: object | string): void;
  /** Returns the messages until a response completed or failed. */
  turn(): Promise<Json[]>;
  closed: Promise<{ code: number }>;
  close(): void;
}

// Node's client accepts headers, which its types lack.
const Socket = WebSocket as unknown as new (url: string, options: object) => WebSocket;

async function open(key: string | null = app.keys.a, server = app): Promise<Client> {
  const headers = key === null ? {} : { authorization: `Bearer ${key}` };
  const socket = new Socket(`${server.url.replace('http', 'ws')}/v1/responses`, { headers });
  const events: Json[] = [];
  let arrived = () => {};
  socket.addEventListener('message', ({ data }) => {
    events.push(JSON.parse(data as string));
    arrived();
  });
  const closed = new Promise<{ code: number }>((resolve) => {
    socket.addEventListener('close', ({ code }) => resolve({ code }));
  });
  await new Promise((resolve, reject) => {
    socket.addEventListener('open', resolve);
    socket.addEventListener('error', () => reject(new Error('refused')));
  });
  const isEnd = ({ type }: Json) => /^(error|response\.(completed|incomplete|failed))$/.test(type);
  return {
    send: (message) => socket.send(typeof message === 'string' ? message : JSON.stringify(message)),
    async turn() {
      while (!events.some(isEnd)) await new Promise<void>((resolve) => (arrived = resolve));
      return events.splice(0, events.findIndex(isEnd) + 1);
    },
    closed,
    close: () => socket.close(),
  };
}

const create = { type: 'response.create', model: 'tiny' };
const last = (events: Json[]) => events.at(-1);
const textOf = (event: Json) => event.response.output[0].content[0].text as string;

describe('a WebSocket', () => {
  it('sends the events of consecutive turns like a stream', async () => {
    const client = await open();
    for (const input of ['one two', 'three']) client.send({ ...create, input });
    const turns = [await client.turn(), await client.turn()];
    const streamed = await app.call('POST', '/v1/responses', {
      json: { model: 'tiny', input: 'one two', stream: true },
    });
    const types = streamed.text.split('\n').flatMap((line) => /^event: (.*)/.exec(line)?.[1] ?? []);
    expect(turns[0]!.map(({ type }) => type)).toEqual(types);
    for (const events of turns)
      expect(events.map((event) => event.sequence_number)).toEqual(events.map((_, n) => n));
    expect(turns.map((events) => textOf(last(events)))).toEqual(['Echo: one two', 'Echo: three']);
    const { id } = last(turns[0]!).response;
    expect((await app.call('GET', `/v1/responses/${id}`)).status).toBe(200);
    client.close();
  });

  it('remembers the latest unstored response until a later turn fails', async () => {
    const client = await open();
    const ask = async (more: object) => {
      client.send({ ...create, store: false, ...more });
      return last(await client.turn());
    };
    const tools = [{ type: 'function', name: 'f' }];
    const first = await ask({ input: '[[tool f {}]]', tools });
    const { call_id } = first.response.output[0];
    const result = { type: 'function_call_output', call_id, output: 'snow' };
    const second = await ask({ input: [result], previous_response_id: first.response.id });
    expect(second.response).toMatchObject({ status: 'completed', previous_response_id: first.response.id });
    const inStore = await ask({ input: 'x', store: true, previous_response_id: second.response.id });
    const third = await ask({ input: 'y', previous_response_id: inStore.response.id });
    expect(third.type).toBe('response.completed');
    expect(await ask({ input: 'z', previous_response_id: first.response.id })).toMatchObject({
      type: 'error',
      status: 400,
      code: 'previous_response_not_found',
      error: { code: 'previous_response_not_found', param: 'previous_response_id' },
    });
    const output = { type: 'function_call_output', call_id: 'call_none', output: 'x' };
    const wrong = await ask({ input: [output], previous_response_id: third.response.id });
    expect(wrong).toMatchObject({ type: 'error', status: 422, param: 'input[0].call_id' });
    const gone = await ask({ input: 'z', previous_response_id: third.response.id });
    expect(gone.code).toBe('previous_response_not_found');
    const other = await open();
    const kept = await ask({ input: 'again' });
    other.send({ ...create, store: false, input: 'x', previous_response_id: kept.response.id });
    expect(last(await other.turn()).code).toBe('previous_response_not_found');
    for (const each of [client, other]) each.close();
  });

  it('reports invalid messages and stays open', async () => {
    const client = await open();
    const cases: [object | string, object][] = [
      ['{', { status: 422, code: 'validation_error' }],
      ['null', { param: 'type' }],
      [{ model: 'tiny', input: 'x' }, { param: 'type' }],
      [{ ...create, type: 'response.cancel' }, { param: 'type' }],
      [{ ...create, input: 'x', background: true }, { param: 'background' }],
      [{ ...create, input: 'x', generate: false }, { param: 'generate' }],
      [{ ...create }, { param: 'input' }],
      [
        { ...create, input: 'x', model: 'nope' },
        { status: 404, code: 'model_not_found' },
      ],
      [{ ...create, input: '[[fail 500]]' }, { status: 502 }],
    ];
    for (const [message, error] of cases) {
      client.send(message);
      expect(await client.turn(), JSON.stringify(message)).toMatchObject([{ type: 'error', ...error }]);
    }
    client.send({ ...create, input: 'fine', stream: true });
    expect(textOf(last(await client.turn()))).toBe('Echo: fine');
    client.close();
  });

  it('requires a key, closes on a large message or too many, and checks the key each turn', async () => {
    await expect(open(null)).rejects.toThrow();
    await expect(open('sk-wrong')).rejects.toThrow();
    const large = await open();
    large.send({ ...create, input: 'x'.repeat(1_100_000) });
    expect(await large.closed).toEqual({ code: 1009 });
    const many = await open();
    for (let n = 0; n < 11; n++) many.send({ ...create, input: '[[hang]]' });
    expect(last(await many.turn())).toMatchObject({ status: 429 });
    expect(await many.closed).toEqual({ code: 1008 });
    const { id: orgId } = await app.accounts.orgs.create(serverActor, { name: 'third' });
    const made = await app.accounts.keys.create(serverActor, { orgId });
    const revoked = await open(made.key);
    revoked.send({ ...create, input: 'x' });
    expect(last(await revoked.turn()).type).toBe('response.completed');
    await app.accounts.keys.revoke(serverActor, made.apiKey.id);
    revoked.send({ ...create, input: 'x' });
    expect(last(await revoked.turn())).toMatchObject({ status: 401, code: 'invalid_api_key' });
    revoked.close();
  });

  it('405: rejects a plain GET, and exists on no other path', async () => {
    expect((await app.call('GET', '/v1/responses')).status).toBe(405);
    const upgrade = 'Connection: Upgrade, close\r\nUpgrade: websocket\r\n';
    const headers = `Host: x\r\nAuthorization: Bearer ${app.keys.a}\r\n${upgrade}`;
    expect(await sendRaw(app.url, `GET /v1/models HTTP/1.1\r\n${headers}\r\n`)).toMatch(/^HTTP\/1.1 200/);
    // Without the other WebSocket headers and without a key: answered and closed.
    expect(await sendRaw(app.url, `GET /v1/responses HTTP/1.1\r\n${headers}\r\n`)).toMatch(/^HTTP\/1.1 400/);
    const refused = await sendRaw(app.url, `GET /v1/responses HTTP/1.1\r\nHost: x\r\n${upgrade}\r\n`);
    expect(refused).toMatch(/^HTTP\/1.1 401[^]*"code":"invalid_api_key"/);
  });

  it('requires GET: an upgrade on POST is ignored', async () => {
    const body = JSON.stringify({ model: 'tiny', input: 'one' });
    const headers = `Host: x\r\nAuthorization: Bearer ${app.keys.a}\r\nConnection: Upgrade, close\r\nUpgrade: websocket\r\n`;
    const typed = `Content-Type: application/json\r\nContent-Length: ${body.length}\r\n`;
    const answer = await sendRaw(app.url, `POST /v1/responses HTTP/1.1\r\n${headers}${typed}\r\n${body}`);
    expect(answer).toMatch(/^HTTP\/1.1 200[^]*Echo: one/);
    expect(await sendRaw(app.url, `HEAD /v1/responses HTTP/1.1\r\n${headers}\r\n`)).toMatch(/^HTTP\/1.1 405/);
  });

  /** Returns the answer to a rejected upgrade. */
  async function refusalOf(headers: string): Promise<string> {
    const connection = await openRaw(app.url);
    connection.write(
      `GET /v1/responses HTTP/1.1\r\nHost: x\r\n${headers}Connection: Upgrade, close\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n`,
    );
    const answer = await Promise.race([connection.closed, connection.until('101 Switching Protocols')]);
    connection.socket.destroy();
    return answer;
  }
  const bearer = (key: string) => `Authorization: Bearer ${key}\r\n`;
  async function keyWith(more: Omit<NewKey, 'orgId'>) {
    const [org] = await app.accounts.orgs.list();
    return app.accounts.keys.create(serverActor, { orgId: org!.id, ...more });
  }

  it('403: rejects a key without the scope inference', async () => {
    const { key } = await keyWith({ scopes: ['files', 'batches', 'usage', 'admin'] });
    const answer = await refusalOf(bearer(key));
    expect(answer).toMatch(/^HTTP\/1.1 403 [^]*"code":"permission_denied"/);
    expect(answer).toContain('inference');
  });

  it('401 and 400: rejects invalid credentials before the upgrade', async () => {
    const { key, apiKey } = await keyWith({});
    await app.accounts.keys.revoke(serverActor, apiKey.id);
    expect(await refusalOf(bearer(key))).toMatch(/^HTTP\/1.1 401 [^]*"code":"invalid_api_key"/);
    expect(await refusalOf(bearer(app.keys.a) + bearer(app.keys.b))).toMatch(
      /^HTTP\/1.1 400 [^]*"code":"duplicate_authorization"/,
    );
    expect(await refusalOf(`${bearer(app.keys.a)}Host: y\r\n`)).toMatch(
      /^HTTP\/1.1 400 [^]*"code":"duplicate_header"/,
    );
  });

  it('checks each turn like an HTTP request: the model list of the key and the budget of its org', async () => {
    const { key } = await keyWith({ models: ['vectors'] });
    const listed = await open(key);
    listed.send({ ...create, input: 'x' });
    expect(last(await listed.turn())).toMatchObject({ status: 403, code: 'model_not_allowed' });
    listed.close();

    const poor = await app.accounts.orgs.create(serverActor, {
      name: 'poor',
      budget: { amount: 1, period: 'total' },
    });
    const { key: poorKey } = await app.accounts.keys.create(serverActor, { orgId: poor.id });
    const client = await open(poorKey);
    client.send({ ...create, input: 'x' });
    expect(last(await client.turn()).type).toBe('response.completed');
    await expect
      .poll(async () => {
        client.send({ ...create, input: 'x' });
        return last(await client.turn());
      })
      .toMatchObject({ status: 402, code: 'budget_exceeded' });
    client.close();
  });

  it.each(['the key', 'no key'])(
    '405: cannot be opened while earlier requests are unanswered, with %s',
    async (who) => {
      const headers =
        who === 'the key' ? `Host: x\r\nAuthorization: Bearer ${app.keys.a}\r\n` : 'Host: x\r\n';
      const upgrade =
        'Upgrade: websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n';
      const answers = await sendRaw(
        app.url,
        `GET /v1/models HTTP/1.1\r\n${headers}\r\nGET /v1/responses HTTP/1.1\r\n${headers}Connection: Upgrade, close\r\n${upgrade}\r\n`,
      );
      expect(answers.match(/HTTP\/1.1 \d+/g)).toEqual([
        `HTTP/1.1 ${who === 'the key' ? 200 : 401}`,
        'HTTP/1.1 405',
      ]);
    },
  );

  it('stops the engine when the client disconnects', async () => {
    const client = await open();
    client.send({ ...create, input: '[[hang]]' });
    await expect.poll(() => app.capacity.interactiveLoad()['tiny']).toBe(1);
    client.close();
    await expect.poll(() => app.capacity.interactiveLoad()['tiny'] ?? 0).toBe(0);
  });

  it('closes on drain: at once when idle, otherwise after the current turn', async () => {
    const [idle, busy] = [await open(), await open()];
    busy.send({ ...create, input: '[[delay 300]] late' });
    await expect.poll(() => app.capacity.interactiveLoad()['tiny']).toBe(1);
    const stopped = app.server.stop();
    expect(await idle.closed).toEqual({ code: 1001 });
    expect(last(await busy.turn()).type).toBe('response.completed');
    expect(await busy.closed).toEqual({ code: 1001 });
    await stopped;
  });
});

import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import type { AnsweredCall } from '../../src/core/call-trace.ts';
import { openRaw, type RawConnection } from './support/raw-http.ts';
import { type RunningServer, startServer } from './support/start-server.ts';

// Requests sent before earlier ones on the same connection are answered.

let app: RunningServer;
const opened: RawConnection[] = [];
const answered: AnsweredCall[] = [];
beforeAll(async () => void (app = await startServer({ onAnswered: (call) => void answered.push(call) })));
afterEach(() => {
  for (const { socket } of opened.splice(0)) socket.destroy();
});
afterAll(() => app.stop());

async function connect(): Promise<RawConnection> {
  const connection = await openRaw(app.url);
  opened.push(connection);
  return connection;
}

const get = (path: string, key?: string, more = '') =>
  `GET ${path} HTTP/1.1\r\nHost: x\r\n${key === undefined ? '' : `Authorization: Bearer ${key}\r\n`}${more}\r\n`;
function chat(content: string, more = '', key = app.keys.a): string {
  const body = JSON.stringify({ model: 'tiny', messages: [{ role: 'user', content }] });
  return `POST /v1/chat/completions HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${key}\r\n${more}Content-Type: application/json\r\nContent-Length: ${body.length}\r\n\r\n${body}`;
}
const statuses = (text: string) =>
  [...text.matchAll(/HTTP\/1\.1 (\d+)/g)].map(([, status]) => Number(status));
const times = (count: number, status: number) => Array.from({ length: count }, () => status);
const refusals = () => answered.filter(({ status }) => status === 401).length;

describe('pipelined requests', () => {
  it('are answered one after the other, in order', async () => {
    const connection = await connect();
    connection.write(Array.from({ length: 20 }, (_, at) => chat(`number ${at}`)).join(''));
    connection.write(get('/v1/nothing', app.keys.a, 'Connection: close\r\n'));
    const text = await connection.closed;
    expect([...text.matchAll(/Echo: number (\d+)/g)].map(([, at]) => Number(at))).toEqual(
      Array.from({ length: 20 }, (_, at) => at),
    );
    expect(statuses(text)).toEqual([...times(20, 200), 404]);
  });

  it.each([
    ['', ''],
    [', with an Expect header', 'Expect: more\r\n'],
  ])('start only after the current request is answered%s', async (_name, more) => {
    const connection = await connect();
    const before = app.engine.stats().running;
    connection.write(chat('[[hang]]', more).repeat(9));
    await expect.poll(() => app.engine.stats().running).toBe(before + 1);
    // Serves another client long enough for the others to have started.
    for (let at = 0; at < 8; at++) expect((await app.call('GET', '/v1/models')).status).toBe(200);
    expect(app.engine.stats().running).toBe(before + 1);
    connection.socket.destroy();
    await expect.poll(() => app.engine.stats().running).toBe(before);
  });

  it('keep their bodies, however they are split into packets', async () => {
    const connection = await connect();
    const text = Array.from({ length: 12 }, (_, at) => chat(`${at} ${'x'.repeat(9_000)}`)).join('');
    for (let at = 0; at < text.length; at += 7_001) connection.write(text.slice(at, at + 7_001));
    connection.write(get('/v1/nothing', app.keys.a, 'Connection: close\r\n'));
    expect(statuses(await connection.closed)).toEqual([...times(12, 200), 404]);
  });

  it.each([
    ['without a key', () => get('/v1/models'), 401],
    ['with a key', () => get('/v1/models', app.keys.a), 200],
    ['for a page', () => get('/docs/'), 200],
    ['for a path that cannot be decoded', () => get('/v1/%zz'), 404, 404],
  ])('are limited to 32, %s: the next one is rejected, and the rest is not read', async (...row) => {
    const [, request, status, last = 429] = row as [string, () => string, number, number?];
    const connection = await connect();
    const before = answered.length;
    connection.write(request().repeat(400) + get('/v1/models', undefined, 'Upgrade: websocket\r\n'));
    const text = await connection.closed;
    expect(statuses(text)).toEqual([...times(33, status), last]);
    if (last === 429) expect(text).toContain('"code":"rate_limit_exceeded"');
    expect(answered.length - before).toBe(34);
  });

  it('with an upgrade among unread ones do not affect the server', async () => {
    const connection = await connect();
    const upgrade = get('/v1/responses', app.keys.a, 'Connection: Upgrade\r\nUpgrade: websocket\r\n');
    connection.write(get('/v1/models', app.keys.a).repeat(34) + upgrade.repeat(10));
    expect(statuses(await connection.closed)).toEqual([...times(33, 200), 429]);
    expect((await app.call('GET', '/v1/models')).status).toBe(200);
  });

  it('C17: on many connections leave capacity for other clients', async () => {
    const other = await connect();
    other.write(chat('warm', '', app.keys.b));
    await other.until('Echo: warm');
    const many = await Promise.all(Array.from({ length: 50 }, connect));
    const before = refusals();
    for (const connection of many) connection.write(get('/v1/models').repeat(32));
    other.write(chat('hello', '', app.keys.b));
    await other.until('Echo: hello');
    expect(refusals() - before).toBeLessThan(50 * 32);
    await expect.poll(() => refusals() - before, { timeout: 60_000 }).toBe(50 * 32);
  });
});

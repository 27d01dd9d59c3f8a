import { afterEach, describe, expect, it } from 'vitest';
import { createManualClock, type ManualClock } from '../support/manual-clock.ts';
import { openRaw, type RawConnection } from './support/raw-http.ts';
import { type RunningServer, startServer, testLimits } from './support/start-server.ts';

const perAddress = 20;

let clock: ManualClock;
let app: RunningServer;
const opened: RawConnection[] = [];

async function start(more: { connections?: number; trustedProxies?: string[] } = {}) {
  const { connections = 1_000, trustedProxies = [] } = more;
  clock = createManualClock();
  const limits = { ...testLimits, connections, connectionsPerAddress: perAddress };
  app = await startServer({ clock, limits, trustedProxies });
}

afterEach(async () => {
  for (const { socket } of opened.splice(0)) socket.destroy();
  await app.stop();
});

async function connect(): Promise<RawConnection> {
  const connection = await openRaw(app.url);
  opened.push(connection);
  return connection;
}

const probe = 'GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n';
const asking = () => `GET /v1/models HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${app.keys.a}\r\n\r\n`;

/** Opens this many connections and sends each one the request; resolves when all are answered. */
async function crowd(size: number, text: string, answer = 'HTTP/1.1 200') {
  const all: RawConnection[] = [];
  for (let at = 0; at < size; at++) {
    const connection = await connect();
    connection.write(text);
    await connection.until(answer);
    all.push(connection);
  }
  return all;
}

describe('C17: connections of one address', () => {
  it('without a key are closed in favor of a new one', async () => {
    await start();
    const [first, ...others] = await crowd(perAddress, probe);
    await clock.advance(1_000);
    const late = await connect();
    late.write(asking());
    await late.until('HTTP/1.1 200');
    await first!.closed;
    expect(others.filter(({ socket }) => socket.destroyed)).toEqual([]);
  });

  it('are limited: further ones get a 429', async () => {
    await start();
    const good = await crowd(perAddress, asking());
    for (const path of ['/healthz', '/v1/models']) {
      const late = await connect();
      late.write(`GET ${path} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${app.keys.a}\r\n\r\n`);
      const answer = await late.closed;
      expect(answer).toMatch(/^HTTP\/1.1 429 /);
      expect(answer).toMatch(/retry-after: 1\r\n/);
      expect(answer).toContain('"code":"rate_limit_exceeded"');
    }
    const silent = await connect();
    // The warning shows that the server has accepted the connection; it warns at most once a minute.
    await expect.poll(() => app.logged.filter(({ level }) => level === 'warn')).toHaveLength(1);
    await expect.poll(async () => (await clock.advance(1_000), silent.socket.destroyed)).toBe(true);

    good[0]!.socket.destroy();
    await good[0]!.closed;
    const again = async () => {
      const next = await connect();
      next.write(asking());
      return (await Promise.race([next.until('\r\n\r\n'), next.closed])).slice(0, 12);
    };
    await expect.poll(again).toBe('HTTP/1.1 200');
  });

  it('are closed without an answer when there are very many', async () => {
    await start();
    await crowd(perAddress, asking());
    const many = await Promise.all(Array.from({ length: 300 }, connect));
    const cut = () => many.filter(({ socket }) => socket.destroyed).length;
    await expect.poll(cut).toBe(200);
    await clock.advance(1_000);
    await expect.poll(cut).toBe(300);
  });

  it('are not limited for a trusted proxy', async () => {
    await start({ trustedProxies: ['127.0.0.0/8'] });
    await crowd(perAddress + 5, asking());
  });

  it('count towards a total limit', async () => {
    await start({ connections: 16, trustedProxies: ['127.0.0.1'] });
    await crowd(16, asking());
    await (
      await connect()
    ).closed;
    await expect.poll(() => app.logged.filter(({ level }) => level === 'warn')).toHaveLength(1);
  });
});

describe('an idle connection', () => {
  it.each([
    ['an open route', () => probe, 200],
    ['a wrong key', () => asking().replace(app.keys.a, 'nonsense'), 401],
  ])('is closed after 5 s if its last request was for %s', async (_what, text, status) => {
    await start();
    const [stranger] = await crowd(1, text(), `HTTP/1.1 ${status}`);
    expect(await stranger!.until('\r\n\r\n')).toMatch(/keep-alive: timeout=4\r\n/i);
    await clock.advance(4_000);
    stranger!.write(text());
    await expect
      .poll(async () => (await stranger!.until('\r\n\r\n')).split(`HTTP/1.1 ${status}`).length)
      .toBe(3);
    await clock.advance(4_000);
    expect(stranger!.socket.destroyed).toBe(false);
    await clock.advance(1_000);
    await stranger!.closed;
  });

  it('may stay open longer after a valid key', async () => {
    await start();
    const [known] = await crowd(1, asking());
    expect(await known!.until('\r\n\r\n')).not.toMatch(/timeout=4/);
    known!.write(probe);
    await known!.until('"version"');
    await clock.advance(60_000);
    expect(known!.socket.destroyed).toBe(false);
  });
});

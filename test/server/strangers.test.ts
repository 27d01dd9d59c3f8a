import { afterEach, describe, expect, it, vi } from 'vitest';
import { makeKey } from '../../src/accounts/keys.ts';
import { serverActor } from '../../src/core/audit.ts';
import { systemRandom } from '../../src/base/system.ts';
import { createManualClock, type ManualClock } from '../support/manual-clock.ts';
import { openRaw, type RawConnection } from './support/raw-http.ts';
import { type RunningServer, startServer } from './support/start-server.ts';

// Requests without a valid key: C17, C22.

let app: RunningServer;
let clock: ManualClock;
const opened: RawConnection[] = [];
const answers: number[] = [];

async function start(options: { trustedProxies?: string[]; perSecond?: number } = {}) {
  const { trustedProxies = [], perSecond = 20 } = options;
  clock = createManualClock();
  answers.length = 0;
  app = await startServer({
    clock,
    trustedProxies,
    limits: { anonymousPerSecond: perSecond },
    onAnswered: ({ status }) => void answers.push(status),
  });
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

const get = (path: string, headers = '') => `GET ${path} HTTP/1.1\r\nHost: x\r\n${headers}\r\n`;
const guess = () => get('/v1/models', `Authorization: Bearer ${makeKey(systemRandom)}\r\n`);

/** Sends requests, each on a connection of its own. */
const send = async (count: number, text: () => string) => {
  for (let at = 0; at < count; at++) (await connect()).write(text());
};
/** Uses up what an address may send without delay. */
async function useUp(text = () => get('/v1/models')) {
  await send(100, text);
  await expect.poll(() => answers.length).toBe(100);
}

describe('C17: requests of one address without a valid key', () => {
  it.each([
    ['no key', () => get('/v1/models'), 401],
    ['guessed keys', guess, 401],
    ['an unknown path', () => get('/v2/nothing'), 404],
    ['a path that cannot be decoded', () => get('/v1/%zz'), 404],
    ['two hosts', () => get('/v1/models', 'Host: y\r\n'), 400],
    ['a page', () => get('/docs/'), 200],
    ['a socket', () => get('/v1/responses', 'Connection: Upgrade\r\nUpgrade: websocket\r\n'), 401],
  ])('are answered 100 at once and then 20 a second, with %s', async (_what, text, status) => {
    await start();
    await useUp(text);
    await send(3, text);
    // A request with a key, which comes later, is not delayed.
    expect((await app.call('GET', '/v1/models')).status).toBe(200);
    expect(answers.filter((each) => each === status).length).toBe(100 + Number(status === 200));
    for (let more = 1; more <= 3; more++) {
      await clock.advance(50);
      await expect.poll(() => answers.length).toBe(101 + more);
    }
  });

  it('delay neither known nor new keys of the same address', async () => {
    await start();
    await useUp(guess);
    await send(20, guess);
    const [org] = await app.accounts.orgs.list();
    const { key } = await app.accounts.keys.create(serverActor, { orgId: org!.id });
    expect((await app.call('GET', '/v1/models', { key })).status).toBe(200);
    expect((await app.call('GET', '/v1/models')).status).toBe(200);
  });

  it('are refused after 10 s if there are too many', async () => {
    await start();
    await useUp();
    const before = clock.pending;
    await send(202, () => get('/v1/models'));
    await expect.poll(() => clock.pending).toBeGreaterThanOrEqual(before + 202);
    await clock.advance(10_000);
    await expect.poll(() => answers.length).toBe(302);
    expect(answers.filter((status) => status === 429)).toHaveLength(2);
  });

  it('drop what is pipelined behind one that waits, and then the connection', async () => {
    await start();
    await useUp();
    const many = await Promise.all(Array.from({ length: 30 }, connect));
    for (const connection of many) connection.write(get('/v1/models').repeat(300));
    const other = await connect();
    other.write(get('/v1/models', `Authorization: Bearer ${app.keys.a}\r\n`));
    await other.until('HTTP/1.1 200');
    expect(answers.length).toBe(101);
    await clock.advance(2_000);
    for (const connection of many) expect((await connection.closed).split('HTTP/1.1 401')).toHaveLength(2);
    expect(answers.length).toBe(131);
  });

  it('leave probes of load balancers alone', async () => {
    await start();
    await useUp();
    await send(5, () => get('/v1/models'));
    const probe = await connect();
    for (let at = 0; at < 5; at++) {
      probe.write(get('/readyz'));
      await expect.poll(() => answers.filter((status) => status === 200).length).toBe(at + 1);
    }
  });

  it('do not delay those of another address behind a trusted proxy', async () => {
    await start({ trustedProxies: ['127.0.0.1', '10.0.0.0/8'] });
    const from = (addresses: string) => () => get('/v1/models', `X-Forwarded-For: ${addresses}\r\n`);
    await useUp(from('198.51.100.7, 203.0.113.9, 10.1.1.1'));
    // The client chose what comes before the address that the proxy saw.
    await send(1, from('192.0.2.1, 203.0.113.9:4711'));
    await send(1, from('[2001:db8::1]:80'));
    await send(1, from('nonsense'));
    await expect.poll(() => answers.length).toBe(102);
    await clock.advance(50);
    await expect.poll(() => answers.length).toBe(103);
  });
});

describe('the log of requests without a valid key', () => {
  const lines = (message: string) => app.logged.filter((line) => line.message === message);

  it('has 20 lines per minute of an address, and then one with sums', async () => {
    await start({ perSecond: 1_000 });
    for (let at = 0; at < 60; at++) await app.call('GET', '/v1/models', { key: null });
    for (let at = 0; at < 5; at++) await app.call('GET', '/nothing', { key: null });
    for (let at = 0; at < 3; at++) await app.call('GET', '/v1/models');
    await expect.poll(() => answers.length).toBe(68);
    expect(lines('request').filter(({ fields }) => fields['status'] === 401)).toHaveLength(20);
    expect(lines('request').filter(({ fields }) => fields['status'] === 200)).toHaveLength(3);
    await clock.advance(60_000);
    expect(lines('further requests without a valid key').map(({ fields }) => fields)).toEqual([
      { address: '127.0.0.1', requests: 45, statuses: { 401: 40, 404: 5 } },
    ]);
    await app.call('GET', '/v1/models', { key: null });
    await expect.poll(() => lines('request').length).toBe(24);
  });

  it('ends with the sums so far when the server stops', async () => {
    await start({ perSecond: 1_000 });
    for (let at = 0; at < 30; at++) await app.call('GET', '/v1/models', { key: null });
    await app.server.stop();
    expect(lines('further requests without a valid key')).toHaveLength(1);
  });
});

describe('C22: guessed keys', () => {
  it('that arrive together cost few queries', async () => {
    await start({ perSecond: 1_000 });
    const asked = vi.spyOn(app.store.keys, 'findByHashes');
    const keys = Array.from({ length: 300 }, () => makeKey(systemRandom));
    const refused = await Promise.allSettled(
      keys.map((key) => app.accounts.authenticate({ authorization: [`Bearer ${key}`], xApiKey: [] })),
    );
    expect(refused.filter(({ status }) => status === 'rejected')).toHaveLength(300);
    expect(asked.mock.calls.flatMap(([hashes]) => hashes)).toHaveLength(300);
    expect(asked.mock.calls.length).toBeLessThanOrEqual(5);
  });
});

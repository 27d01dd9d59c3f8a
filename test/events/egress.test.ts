import { readFileSync } from 'node:fs';
import { createServer as createTlsServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { createEgress } from '../../src/events/egress.ts';
import { freePort } from '../support/free-port.ts';
import { startWebhookReceiver } from '../support/webhook-receiver.ts';
import type { WebhookReceiver } from '../support/webhook-receiver.ts';

// C11: URLs that lead to internal hosts, by their text, by their name, or only at a second look-up.

let receiver: WebhookReceiver;
let port: string;
beforeEach(async () => {
  receiver = await startWebhookReceiver();
  ({ port } = new URL(receiver.url));
});
afterEach(() => receiver.close());

/** Names and their addresses. */
const hosts: Record<string, string[]> = {
  'public.test': ['93.184.216.34', '2606:4700::1111'],
  'inside.test': ['10.0.0.7'],
  'half.test': ['93.184.216.34', '10.0.0.7'],
  'mapped.test': ['::ffff:169.254.169.254'],
  localhost: ['127.0.0.1', '::1'],
};
const resolve = async (host: string) => {
  const addresses = hosts[host.toLowerCase()];
  if (!addresses) throw Object.assign(new Error('not found'), { code: 'ENOTFOUND' });
  return addresses.map((address) => ({ address, family: address.includes(':') ? 6 : 4 }));
};
const egress = (...allow: string[]) => createEgress({ allow, resolve });
const org = 'org_a';
const message = { org, headers: { 'x-one': '1' }, body: '{"a":1}' };
const never = new AbortController().signal;

describe('C11: a URL', () => {
  it.each([
    'https://public.test/hook?a=1',
    'https://PUBLIC.test:8443',
    'https://1.1.1.1/',
    'https://[2606:4700::1]/',
  ])('may lead to a public address: %s', (url) => expect(egress().check(url, org)).resolves.toBeUndefined());

  it.each([
    'https://127.0.0.1/',
    'https://2130706433/',
    'https://0x7f000001/',
    'https://017700000001/',
    'https://127.1/',
    'https://0/',
    'https://１２７.０.０.１/',
    'https://127。0。0。1/',
    'https://[::1]/',
    'https://[::ffff:127.0.0.1]/',
    'https://[::ffff:7f00:1]/',
    'https://[64:ff9b::a9fe:a9fe]/',
    'https://169.254.169.254/latest/meta-data/',
    'https://localhost/',
    'https://LOCALHOST/',
    'https://inside.test/',
    'https://half.test/',
    'https://mapped.test/',
    'https://unknown.test/',
    'https://127.0.0.1\\@public.test/',
    'https://public.test@127.0.0.1/',
    'https://user:password@public.test/',
    'http://public.test/',
    'http://1.1.1.1/',
    'ftp://public.test/',
    'file:///etc/passwd',
    'gopher://127.0.0.1/',
    'javascript:alert(1)',
    '//public.test/',
    'public.test',
    'https://',
    '',
  ])('is refused: %s', async (url) => {
    await expect(egress().check(url, org)).rejects.toMatchObject({ name: 'EgressError', refused: true });
    await expect(egress().post(url, message, never)).rejects.toMatchObject({ refused: true });
  });

  it.each([
    [
      'https://1.1.1.1:5432/',
      undefined,
      'port 5432 is not allowed; use 443, 80, 8443, 8080 or a host in egress.allow',
    ],
    [
      'https://public.test:25',
      undefined,
      'port 25 is not allowed; use 443, 80, 8443, 8080 or a host in egress.allow',
    ],
    ['https://[2606:4700::1]:6379/', undefined, /^port 6379 is not allowed/],
    ['https://public.test', [8443], 'port 443 is not allowed; use 8443 or a host in egress.allow'],
    // An internal host is refused as such, whatever its port.
    ['https://inside.test:5432/', undefined, /no public address/],
  ])('to another port of a public address is refused (attack 12): %s', async (url, ports, reason) => {
    const limited = createEgress({ allow: [], resolve, ...(ports && { ports }) });
    const refused = { refused: true, message: expect.stringMatching(reason) };
    await expect(limited.check(url, org)).rejects.toMatchObject(refused);
    await expect(limited.post(url, { org, headers: {}, body: '' }, never)).rejects.toMatchObject(refused);
  });

  it('may lead to a configured port, and to any port that egress.allow opens', async () => {
    const configured = createEgress({ allow: ['public.test', '10.0.0.0/8'], ports: [8443, 9443], resolve });
    for (const url of ['https://1.1.1.1:9443/', 'https://public.test:5432', 'http://inside.test:6379/'])
      await expect(configured.check(url, org)).resolves.toBeUndefined();
    await expect(configured.check('https://1.1.1.1/', org)).rejects.toMatchObject({ refused: true });
  });

  it('gets the same message for an internal host and for one that does not exist', async () => {
    const messageFor = (host: string) =>
      egress()
        .check(`https://${host}/`, org)
        .catch((error: Error) => error.message.replace(host, 'HOST'));
    expect(await messageFor('inside.test')).toBe(await messageFor('unknown.test'));
  });

  it('that an egress.allow entry names is reported if it does not resolve', async () => {
    await expect(egress('unknown.test').check('http://unknown.test/', org)).rejects.toMatchObject({
      refused: true,
      message: 'unknown.test is in egress.allow, but does not resolve to an address',
    });
  });

  it.each([
    ['10.0.0.0/8', 'http://inside.test/'],
    ['inside.test', 'http://INSIDE.test./'],
    ['10.0.0.7', 'https://half.test/'],
    ['::1', 'http://[::1]:8080/'],
    ['169.254.0.0/16', 'http://mapped.test/'],
  ])('may lead to addresses that %s allows: %s', async (allow, url) => {
    hosts['inside.test.'] = ['10.0.0.7'];
    await expect(egress(allow).check(url, org)).resolves.toBeUndefined();
    await expect(egress('192.168.0.0/16', 'other.test').check(url, org)).rejects.toMatchObject({
      refused: true,
    });
  });
});

describe('C11: a request', () => {
  const open = () => egress('127.0.0.0/8');

  it('is sent unchanged, and its response returned', async () => {
    receiver.answer = (response) => void response.writeHead(503, { 'retry-after': '7' }).end('later');
    const answer = await open().post(`${receiver.url}?a=b`, message, never);
    expect(answer).toEqual({ status: 503, retryAfterMs: 7000 });
    expect(receiver.received).toMatchObject([
      { path: '/hook?a=b', body: '{"a":1}', headers: { 'x-one': '1', host: `127.0.0.1:${port}` } },
    ]);
  });

  it('goes to the address that was checked, even if the name resolves to another one later', async () => {
    let lookups = 0;
    const rebinding = createEgress({
      allow: ['127.0.0.1'],
      resolve: async () => [{ address: lookups++ === 0 ? '127.0.0.1' : '10.0.0.7', family: 4 }],
    });
    const answer = await rebinding.post(`http://rebound.test:${port}/`, message, never);
    expect([answer.status, lookups]).toEqual([200, 1]);
    expect(receiver.received[0]!.headers.host).toBe(`rebound.test:${port}`);
    await expect(rebinding.post(`http://rebound.test:${port}/`, message, never)).rejects.toMatchObject({
      refused: true,
    });
    expect(receiver.received).toHaveLength(1);
  });

  it('follows no redirect', async () => {
    const target = await startWebhookReceiver();
    receiver.answer = (response) => void response.writeHead(302, { location: target.url }).end();
    expect((await open().post(receiver.url, message, never)).status).toBe(302);
    expect(target.received).toEqual([]);
    await target.close();
  });

  it('ends when its signal aborts, before the response and within it', async () => {
    receiver.answer = (_, { path }) => (path === '/hang' ? late.abort(new Error('late')) : undefined);
    const late = new AbortController();
    await expect(open().post(receiver.url.replace('hook', 'hang'), message, late.signal)).rejects.toThrow(
      'late',
    );
    const slow = new AbortController();
    receiver.answer = (response) => {
      response.writeHead(200).write('a');
      setImmediate(() => slow.abort(new Error('slow')));
    };
    const answer = await open()
      .post(receiver.url, message, slow.signal)
      .catch((error: Error) => error.message);
    expect([{ status: 200, retryAfterMs: undefined }, 'slow']).toContainEqual(answer);
    const hanging = createEgress({ allow: [], resolve: () => new Promise(() => {}) });
    const stopped = new AbortController();
    const waiting = hanging.post('https://public.test/', message, stopped.signal);
    stopped.abort(new Error('stopped'));
    await expect(waiting).rejects.toThrow('stopped');
  });

  it('reads no more than the beginning of a response', async () => {
    let written = 0;
    const gone = new Promise<void>((done) => {
      receiver.answer = (response) => {
        response.writeHead(200);
        const more = () => {
          while (!response.destroyed && response.write(Buffer.alloc(65_536))) written += 65_536;
        };
        response.on('drain', more).on('close', () => done());
        more();
      };
    });
    expect((await open().post(receiver.url, message, never)).status).toBe(200);
    await gone;
    expect(written).toBeLessThan(32 * 1024 * 1024);
  });

  it('reports why there was no response', async () => {
    const closedPort = await freePort();
    await expect(open().post(`http://127.0.0.1:${closedPort}/`, message, never)).rejects.toMatchObject({
      refused: false,
      message: `127.0.0.1:${closedPort} refuses connections`,
    });
    receiver.answer = (response) => {
      response.socket!.end('no HTTP at all\r\n\r\n');
    };
    const host = new URL(receiver.url).host;
    await expect(open().post(receiver.url, message, never)).rejects.toThrow(
      `the connection to ${host} broke (Response does not match the HTTP/1.1 protocol`,
    );
  });

  it('requires the certificate of the host, and rejects any other', async () => {
    const file = (name: string) =>
      readFileSync(new URL(`../engines/upstream/tls/${name}`, import.meta.url), 'utf8');
    let serverName: string | undefined;
    const server = createTlsServer({
      key: file('key.pem'),
      cert: file('certificate.pem'),
      SNICallback: (name, done) => {
        serverName = name;
        done(null);
      },
    });
    await new Promise<void>((done) => void server.listen(0, '127.0.0.1', done));
    const at = (server.address() as AddressInfo).port;
    hosts['tls.test'] = ['127.0.0.1'];
    const refused = egress('tls.test').post(`https://tls.test:${at}/`, message, never);
    await expect(refused).rejects.toMatchObject({
      refused: false,
      message: expect.stringMatching(/CERT|SELF/),
    });
    expect(serverName).toBe('tls.test');
    server.close();
  });
});

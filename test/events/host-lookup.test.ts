import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { createEgress } from '../../src/events/egress.ts';
import { createHostLookup } from '../../src/events/host-lookup.ts';
import { engineAt } from '../engines/upstream/setup.ts';
import { type FakeUpstream, startFakeUpstream } from '../support/fake-upstream.ts';
import { type NameServer, startNameServer } from '../support/name-server.ts';
import { type WebhookReceiver, startWebhookReceiver } from '../support/webhook-receiver.ts';
import { type RunningServer, startServer } from '../server/support/start-server.ts';

// Webhook hosts are resolved by name servers that their owners choose and that may never answer.

let names: NameServer;
let folder: string;
let hostsFile: string;
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'offpeak-hosts-'));
  hostsFile = join(folder, 'hosts');
  writeFileSync(
    hostsFile,
    '# 10.9.9.9 ours.test\n10.0.0.7\tours.test Other.test # named here\n\n2606:4700::1 ours.test\nnonsense ours.test\n',
  );
});
afterAll(() => rmSync(folder, { recursive: true }));
beforeEach(async () => {
  names = await startNameServer({
    'public.test': ['93.184.216.34', '2606:4700::1111'],
    'four.test': ['93.184.216.34'],
    'half.test': ['93.184.216.34', 'fd00::7'],
    'inside.test': ['10.0.0.7'],
    'hooks.test': ['127.0.0.1'],
    'ours.test': ['93.184.216.34'],
  });
});
afterEach(() => names.close());

/** Queries end only when a test releases them. */
const newLookup = (queryMs = 600_000) => createHostLookup({ servers: [names.address], hostsFile, queryMs });
const lookUp = (host: string, isAllowed = false) =>
  newLookup()(host, { isAllowed, signal: new AbortController().signal });
const newEgress = (...allow: string[]) => createEgress({ allow, resolve: newLookup() });

describe('a host', () => {
  it('has all its addresses from name servers, IPv4 and IPv6', async () => {
    expect(await lookUp('public.test')).toEqual([
      { address: '93.184.216.34', family: 4 },
      { address: '2606:4700::1111', family: 6 },
    ]);
    expect(await lookUp('four.test')).toEqual([{ address: '93.184.216.34', family: 4 }]);
    expect(await lookUp('unknown.test')).toEqual([]);
    expect(names.queries.toSorted()).toEqual(
      ['public.test', 'four.test', 'unknown.test']
        .flatMap((name) => [`A ${name}`, `AAAA ${name}`])
        .toSorted(),
    );
  });

  it('has only the addresses of the hosts file if it is listed there', async () => {
    expect(await lookUp('ours.test')).toEqual([
      { address: '10.0.0.7', family: 4 },
      { address: '2606:4700::1', family: 6 },
    ]);
    expect(await lookUp('other.test')).toEqual([{ address: '10.0.0.7', family: 4 }]);
    expect(names.queries).toEqual([]);
  });

  it('is this machine if it is called localhost, or is resolved by the system if it is allowed by name', async () => {
    expect((await lookUp('localhost')).map(({ address }) => address)).toEqual(['127.0.0.1', '::1']);
    expect((await lookUp('localhost', true)).map(({ address }) => address)).toContain('127.0.0.1');
    expect(names.queries).toEqual([]);
  });

  it('is refused if any of its addresses is not public', async () => {
    const check = (host: string) => newEgress().check(`https://${host}/`, 'org_a');
    await expect(check('public.test')).resolves.toBeUndefined();
    for (const host of ['half.test', 'inside.test', 'ours.test', 'other.test', 'localhost', 'unknown.test'])
      await expect(check(host)).rejects.toMatchObject({ name: 'EgressError', refused: true });
  });

  it('is refused for now if its name server does not answer, and the query is not repeated', async () => {
    const egress = createEgress({ allow: [], resolve: newLookup(1) });
    const checked = egress.check('https://a.silent.test/', 'org_a');
    await expect(checked).rejects.toMatchObject({
      refused: false,
      message: 'the DNS look-up of a.silent.test timed out',
    });
    expect(names.queries.toSorted()).toEqual(['A a.silent.test', 'AAAA a.silent.test']);
  });

  it('is no longer looked up once the attempt is over', async () => {
    const over = new AbortController();
    const found = newLookup()('a.silent.test', { isAllowed: false, signal: over.signal });
    await names.waitFor(2);
    over.abort(new Error('over'));
    // A name without records has no addresses; a name server that does not answer would be an error.
    expect(await found).toEqual([]);
  });
});

describe('a silent name server of one org (attack 1)', () => {
  let app: RunningServer;
  let upstream: FakeUpstream;
  let receiver: WebhookReceiver;
  beforeEach(async () => {
    upstream = await startFakeUpstream();
    receiver = await startWebhookReceiver();
    const url = upstream.url.replace('127.0.0.1', 'localhost');
    app = await startServer({ engine: () => engineAt(url), lookupHost: newLookup() });
  });
  afterEach(async () => {
    names.release();
    await app.stop();
    await receiver.close();
    await upstream.close();
  });

  const create = (url: string, key = app.keys.a) => app.call('POST', '/v1/webhooks', { key, json: { url } });
  const chat = { model: 'tiny', messages: [{ role: 'user', content: 'hi' }] };

  it('gets 2 look-ups, fails more, and does not affect engines and webhooks of other orgs', async () => {
    const statuses: number[] = [];
    const created = Array.from({ length: 12 }, async (_, at) => {
      const answer = await create(`https://${at}.silent.test/`);
      statuses.push(answer.status);
      return answer;
    });
    await expect.poll(() => statuses).toHaveLength(10);
    expect(statuses).toEqual(Array.from({ length: 10 }, () => 429));
    // Two look-ups are pending and stay so; other requests continue.
    const { b } = app.keys;
    const answers = Array.from({ length: 6 }, () =>
      app.call('POST', '/v1/chat/completions', { key: b, json: chat }),
    );
    expect((await Promise.all(answers)).map(({ status }) => status)).toEqual([200, 200, 200, 200, 200, 200]);
    expect((await create('https://public.test/', b)).status).toBe(201);
    expect(statuses).toHaveLength(10);
    names.release();
    const bodies = await Promise.all(created);
    expect(bodies.filter(({ status }) => status === 422)).toHaveLength(2);
    expect(bodies.find(({ status }) => status === 429)).toMatchObject({
      json: { error: { code: 'rate_limit_exceeded' } },
    });
    // Both look-ups have ended, so new ones are possible.
    expect((await create('https://public.test/')).status).toBe(201);
  });

  it('is not queried for a webhook beyond the limit', async () => {
    for (let at = 0; at < 20; at++) expect((await create('https://1.1.1.1/')).status).toBe(201);
    const refused = await create('https://a.silent.test/');
    expect([refused.status, refused.json.error.code]).toEqual([409, 'too_many_webhooks']);
    expect(names.queries).toEqual([]);
  });

  it('delays only the deliveries of its own org', async () => {
    const egress = newEgress('127.0.0.0/8');
    const { signal } = new AbortController();
    const message = { headers: {}, body: '{}' };
    const own = Array.from({ length: 5 }, (_, at) =>
      egress
        .post(`https://${at}.silent.test/`, { org: 'org_a', ...message }, signal)
        .catch((e: Error) => e.message),
    );
    await names.waitFor(4);
    const other = receiver.url.replace('127.0.0.1', 'hooks.test');
    expect(await egress.post(other, { org: 'org_b', ...message }, signal)).toMatchObject({ status: 200 });
    expect(names.queries.filter((query) => query.includes('silent'))).toHaveLength(4);
    await expect.poll(() => (names.release(), names.queries.length)).toBe(12);
    names.release();
    expect(await Promise.all(own)).toEqual(
      own.map((_, at) => expect.stringContaining(`${at}.silent.test has no public address`)),
    );
  });
});

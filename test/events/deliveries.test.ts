import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { createIds } from '../../src/base/ids.ts';
import { silent } from '../../src/base/log.ts';
import { createWebhooks } from '../../src/events/create-webhooks.ts';
import type { Egress, EgressAnswer } from '../../src/events/egress.ts';
import { EgressError } from '../../src/events/egress.ts';
import type { Webhooks } from '../../src/events/webhooks.ts';
import { eventTypes, type Delivery } from '../../src/core/webhook.ts';
import { createMemoryStore } from '../support/memory-store.ts';
import type { MemoryStore } from '../support/memory-store.ts';
import { addBatch, closeBatch } from '../store/fixtures.ts';
import { createManualClock } from '../support/manual-clock.ts';
import type { ManualClock } from '../support/manual-clock.ts';
import { createSeededRandom } from '../support/seeded-random.ts';

// Time is simulated: receivers are away for days, slow, removed or failing.

const hour = 3_600_000;
const caller = { orgId: 'org_a', keyId: 'key_a', scopes: [], models: null };

interface Sent {
  url: string;
  id: string;
  timestamp: number;
  at: number;
  body: string;
}

let clock: ManualClock;
let store: MemoryStore;
let webhooks: Webhooks;
let sent: Sent[];
/** Answer of the receivers. */
let answer: (sent: Sent, signal: AbortSignal) => Promise<EgressAnswer>;

const egress: Egress = {
  check: async () => {},
  post(url, { headers, body }, signal) {
    const timestamp = Number(headers['webhook-timestamp']);
    const each = { url, id: headers['webhook-id']!, timestamp, at: clock.now(), body };
    sent.push(each);
    return answer(each, signal);
  },
};
const status = async (code: number, retryAfterMs?: number) => ({ status: code, retryAfterMs });
/** A connection that never answers. */
const silence = (signal: AbortSignal) =>
  new Promise<never>((_, reject) => signal.addEventListener('abort', () => reject(signal.reason as Error)));

function newProcess(exclusive = true): Webhooks {
  const random = createSeededRandom(7);
  return createWebhooks({
    store,
    egress,
    clock,
    random,
    ids: createIds(clock, random),
    log: silent,
    exclusive,
    secretsKeys: { current: undefined, accepted: [] },
  });
}

beforeEach(async () => {
  clock = createManualClock();
  store = createMemoryStore({ clock });
  await store.start();
  sent = [];
  answer = () => status(200);
  webhooks = newProcess();
  await webhooks.start();
});

afterEach(async () => {
  const stopped = webhooks.stop();
  await clock.advance(10_000);
  await stopped;
  await store.stop();
});

const hook = async (url = 'https://example.com/') =>
  (await webhooks.create(caller, { name: '', url, eventTypes: [...eventTypes] })).webhook;
const deliveries = async (id: string) => (await webhooks.deliveries(caller, id, { limit: 100 })).deliveries;
const delivery = async (id: string) => (await deliveries(id))[0]!;

/** Ends a batch, by default now. */
async function endBatch(at = clock.now()): Promise<string> {
  const batch = await addBatch(store);
  await store.batches.cancel('org_a', batch.id, at, 0);
  await closeBatch(store, batch.id, at);
  return batch.id;
}

const soon = () => clock.advance(1_500);

/** Advances the time until the next attempt was made. */
async function nextAttempt(id: string): Promise<Delivery> {
  const { nextAttemptAt } = await delivery(id);
  clock.jump(nextAttemptAt! - clock.now());
  await soon();
  return delivery(id);
}

/** Waits until an attempt in progress ends. */
async function attempted(id: string, n: number): Promise<void> {
  const isOver = ({ attempts, status: now, nextAttemptAt }: Delivery) =>
    attempts === n && (now !== 'pending' || nextAttemptAt !== null);
  for (let s = 0; s < 25 && !isOver(await delivery(id)); s++) await clock.advance(1_000);
}

describe('an event', () => {
  it('is sent within a second or two of its cause, and once', async () => {
    const { id } = await hook();
    const batch = await endBatch();
    await soon();
    await clock.advance(120_000);
    expect(sent).toHaveLength(1);
    const [only] = sent;
    expect(JSON.parse(only!.body)).toEqual({
      id: only!.id,
      object: 'event',
      type: 'batch.cancelled',
      created_at: expect.any(Number),
      data: { id: batch },
    });
    expect(await delivery(id)).toMatchObject({ status: 'delivered', attempts: 1, lastStatus: 200 });
  });

  it('F43: reaches a receiver that was down for 75 hours, as the same event with a new timestamp', async () => {
    const { id } = await hook();
    await endBatch();
    const began = clock.now();
    answer = () => Promise.reject(new EgressError('example.com refuses connections', false));
    await soon();
    const gaps: number[] = [];
    while ((await delivery(id)).nextAttemptAt! - began < 75 * hour) {
      const { nextAttemptAt, lastAttemptAt } = await delivery(id);
      gaps.push(nextAttemptAt! - lastAttemptAt!);
      await nextAttempt(id);
    }
    answer = () => status(204);
    const last = await nextAttempt(id);
    expect(last).toMatchObject({ status: 'delivered', attempts: 10, lastStatus: 204, lastError: null });
    expect(clock.now() - began).toBeGreaterThan(75 * hour);
    expect(new Set(sent.map((each) => each.id)).size).toBe(1);
    expect(new Set(sent.map((each) => each.body)).size).toBe(1);
    for (const each of sent) expect(each.timestamp).toBe(Math.floor(each.at / 1000));
    // Increasing delays, each a little longer than the table says.
    const table = [5, 300, 1800, 7200, 18_000, 36_000, 50_400, 72_000].map((seconds) => seconds * 1000);
    expect(gaps).toHaveLength(table.length);
    for (const [index, gap] of gaps.entries()) {
      expect(gap).toBeGreaterThanOrEqual(table[index]!);
      expect(gap).toBeLessThanOrEqual(table[index]! * 1.1);
    }
  });

  it.each([
    ['answers 500', () => status(500), { lastStatus: 500, lastError: 'The receiver answered 500.' }],
    [
      'answers 301',
      () => status(301),
      { lastStatus: 301, lastError: 'The receiver answered 301; redirects are not followed.' },
    ],
    [
      'leads to a forbidden address',
      () => Promise.reject(new EgressError('inside.test has no public address', true)),
      { lastStatus: null, lastError: 'The URL is not allowed: inside.test has no public address.' },
    ],
    [
      'is silent',
      (_: Sent, signal: AbortSignal) => silence(signal),
      { lastStatus: null, lastError: 'The receiver did not answer within 20 s.' },
    ],
  ])('is tried ten times with a receiver that %s, then given up', async (_, said, outcome) => {
    const { id } = await hook();
    await endBatch();
    answer = said;
    await soon();
    for (let n = 1; n <= 10; n++) {
      await attempted(id, n);
      expect(await delivery(id)).toMatchObject({
        status: n < 10 ? 'pending' : 'failed',
        attempts: n,
        ...outcome,
      });
      if (n < 10) await nextAttempt(id);
    }
    expect((await delivery(id)).nextAttemptAt).toBeNull();
    clock.jump(100 * hour);
    await soon();
    expect(sent).toHaveLength(10);
    expect((await webhooks.get(caller, id)).disabledAt).toBeNull();
  });

  it('waits as long as the receiver requests, up to a day', async () => {
    const { id } = await hook();
    await endBatch();
    answer = () => status(429, 2 * hour);
    await soon();
    const first = await delivery(id);
    expect(first.nextAttemptAt! - first.lastAttemptAt!).toBe(2 * hour);
    answer = () => status(429, 900 * hour);
    const second = await nextAttempt(id);
    expect(second.nextAttemptAt! - second.lastAttemptAt!).toBe(24 * hour);
  });

  it('disables a webhook whose receiver answers 410, until it is enabled', async () => {
    const [{ id }, other] = [await hook(), await hook('https://example.org/')];
    answer = ({ url }) => status(url === 'https://example.com/' ? 410 : 200);
    await endBatch();
    await soon();
    expect(await delivery(id)).toMatchObject({ status: 'failed', lastStatus: 410, nextAttemptAt: null });
    expect(await webhooks.get(caller, id)).toMatchObject({
      disabledAt: expect.any(Number),
      disabledReason: 'The receiver answered 410 (Gone).',
    });
    await endBatch();
    await soon();
    expect(await deliveries(id)).toHaveLength(1);
    expect(await deliveries(other.id)).toHaveLength(2);
    await expect(webhooks.replay(caller, (await delivery(id)).id)).rejects.toMatchObject({
      code: 'webhook_disabled',
    });
    answer = () => status(200);
    await webhooks.update(caller, id, { enabled: true });
    const replayed = await webhooks.replay(caller, (await delivery(id)).id);
    await soon();
    expect(await delivery(id)).toMatchObject({ id: replayed.id, status: 'delivered', attempts: 1 });
    const told = sent.filter(({ url }) => url === 'https://example.com/');
    expect(told[0]!.id).toBe(told[1]!.id);
  });

  it('is replayed after its delivery was given up, as the same event', async () => {
    const { id } = await hook();
    await endBatch();
    await soon();
    const first = await delivery(id);
    const replayed = await webhooks.replay(caller, first.id);
    await soon();
    expect(await deliveries(id)).toMatchObject([
      { id: replayed.id, event: first.event, status: 'delivered' },
      { id: first.id },
    ]);
    expect(sent.map((each) => each.id)).toEqual([first.event.id, first.event.id]);
  });
});

describe('receivers', () => {
  it('that never answer delay no others, and get a few deliveries at a time', async () => {
    const mute = [await hook('https://silent.test/'), await hook('https://dumb.test/')];
    const lively = await hook('https://lively.test/');
    answer = ({ url }, signal) => (url === 'https://lively.test/' ? status(200) : silence(signal));
    for (let i = 0; i < 40; i++) await endBatch();
    await soon();
    expect((await deliveries(lively.id)).every((each) => each.status === 'delivered')).toBe(true);
    for (const { id } of mute)
      expect((await deliveries(id)).filter(({ attempts }) => attempts > 0)).toHaveLength(8);
    // The attempts time out, and the next few follow.
    await clock.advance(20_000);
    for (const { id } of mute)
      expect((await deliveries(id)).filter(({ attempts }) => attempts > 0)).toHaveLength(16);
  });

  it('get each event once from several processes', async () => {
    const { id } = await hook();
    const others = [newProcess(false), newProcess(false)];
    for (const other of others) await other.start();
    for (let i = 0; i < 30; i++) await endBatch();
    await clock.advance(5_000);
    expect(sent).toHaveLength(30);
    expect(new Set(sent.map((each) => each.id)).size).toBe(30);
    expect((await deliveries(id)).every(({ attempts }) => attempts === 1)).toBe(true);
    for (const other of others) await other.stop();
  });
});

describe('a process', () => {
  it('F44: that dies during an attempt leaves it to another process, which sends the same event', async () => {
    const { id } = await hook();
    await endBatch();
    const lease = { leaseMs: 60_000, limit: 1, each: 1, busy: [] };
    const [claimed] = await store.webhooks.claim('wrk_dead', lease);
    await clock.advance(58_000);
    expect(sent).toEqual([]);
    await clock.advance(3_000);
    expect(sent).toMatchObject([{ id: claimed!.event.id }]);
    expect(await delivery(id)).toMatchObject({ status: 'delivered', attempts: 2 });
  });

  it('that starts alone on its database immediately resends what its predecessor had begun', async () => {
    await hook();
    await endBatch();
    await store.webhooks.claim('wrk_dead', { leaseMs: 60_000, limit: 1, each: 1, busy: [] });
    const next = newProcess();
    await next.start();
    await clock.advance(10);
    expect(sent).toHaveLength(1);
    await next.stop();
  });

  it('that stops releases attempts that do not end soon', async () => {
    const { id } = await hook();
    await endBatch();
    answer = (_, signal) => silence(signal);
    await soon();
    const stopped = webhooks.stop();
    await clock.advance(2_000);
    await stopped;
    expect(await delivery(id)).toMatchObject({ status: 'pending', nextAttemptAt: clock.now() });
    answer = () => status(200);
    webhooks = newProcess();
    await webhooks.start();
    await soon();
    expect(await delivery(id)).toMatchObject({ status: 'delivered', attempts: 2 });
  });

  it('sweeps deliveries that are 30 days old', async () => {
    const { id } = await hook();
    const month = 30 * 24 * hour;
    await endBatch(clock.now() - month - hour);
    await endBatch(clock.now() - month + 2 * hour);
    await soon();
    expect(await deliveries(id)).toHaveLength(2);
    await clock.advance(hour);
    expect(await deliveries(id)).toHaveLength(1);
  });
});

describe('a test', () => {
  it('is sent once, even to a disabled webhook, and returns its outcome', async () => {
    const { id } = await hook();
    await webhooks.update(caller, id, { enabled: false });
    answer = () => status(503);
    expect(await webhooks.test(caller, id)).toMatchObject({ status: 'failed', lastStatus: 503, attempts: 1 });
    answer = () => status(200);
    const tested = await webhooks.test(caller, id);
    expect(tested).toMatchObject({
      status: 'delivered',
      event: { type: 'webhook.test', resourceId: id },
      lastError: null,
    });
    await clock.advance(120_000);
    expect(sent).toHaveLength(2);
    expect(await delivery(id)).toMatchObject({ id: tested.id, status: 'delivered' });
    await expect(webhooks.test({ ...caller, orgId: 'org_b' }, id)).rejects.toMatchObject({
      code: 'not_found',
    });
  });

  it('never queues: an org has 8 at a time, independently of other orgs', async () => {
    const other = { ...caller, orgId: 'org_b' };
    const { id } = await hook('https://silent.test/');
    const { webhook } = await webhooks.create(other, { name: '', url: 'https://b.test/', eventTypes: [] });
    answer = ({ url }, signal) => (url === 'https://b.test/' ? status(200) : silence(signal));
    const hanging = Array.from({ length: 8 }, () => webhooks.test(caller, id));
    await expect(webhooks.test(caller, id)).rejects.toMatchObject({ code: 'server_overloaded' });
    expect(await webhooks.test(other, webhook.id)).toMatchObject({ status: 'delivered' });
    await clock.advance(20_000);
    await Promise.all(hanging);
    answer = () => status(200);
    expect(await webhooks.test(caller, id)).toMatchObject({ status: 'delivered' });
  });
});

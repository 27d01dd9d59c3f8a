import { afterEach, beforeEach, expect, it } from 'vitest';
import { createIds } from '../../src/base/ids.ts';
import { silent, type Log } from '../../src/base/log.ts';
import { eventTypes } from '../../src/core/webhook.ts';
import { createWebhooks } from '../../src/events/create-webhooks.ts';
import type { Egress } from '../../src/events/egress.ts';
import type { SecretsKeys } from '../../src/events/secret-box.ts';
import { signedHeaders } from '../../src/events/signature.ts';
import { createManualClock, type ManualClock } from '../support/manual-clock.ts';
import { createMemoryStore, type MemoryStore } from '../support/memory-store.ts';
import { createSeededRandom } from '../support/seeded-random.ts';

// Webhook secrets at rest: configured, rotated and lost keys, over one database.

const caller = { orgId: 'org_a', keyId: 'key_a', scopes: [] } as never;
const [first, second] = ['first-'.repeat(8), 'second-'.repeat(8)];
let clock: ManualClock;
let store: MemoryStore;
let logged: unknown[];
let isOlderAlive: boolean;
let sent: { headers: Record<string, string>; body: string }[];
const random = createSeededRandom(3);
const egress: Egress = {
  check: async () => {},
  async post(_url, { headers, body }) {
    sent.push({ headers, body });
    return { status: 200, retryAfterMs: undefined };
  },
};

beforeEach(async () => {
  clock = createManualClock();
  store = createMemoryStore({ clock });
  await store.start();
  logged = [];
  sent = [];
  isOlderAlive = false;
});
afterEach(() => store.stop());

/** A server process with these keys, started. */
async function processWith(current: SecretsKeys['current'], accepted: string[] = []) {
  const note = (fields: unknown, message?: string) => void logged.push([message, fields]);
  const log: Log = { ...silent, warn: note, error: note };
  const { webhooks: rows } = store;
  const webhooks = createWebhooks({
    store: {
      webhooks: rows,
      scrub: () => store.scrub(),
      workers: { hasFirstVersion: async () => isOlderAlive },
    },
    egress,
    clock,
    random,
    ids: createIds(clock, random),
    log,
    exclusive: false,
    secretsKeys: { current, accepted },
  });
  await webhooks.start();
  return webhooks;
}

type Process = Awaited<ReturnType<typeof processWith>>;
const create = (from: Process) =>
  from.create(caller, { name: '', url: 'https://example.com/', eventTypes: [...eventTypes] });
const stored = async () => (await store.webhooks.secrets('', 99)).map(({ secret }) => secret);
const states = async (of: Process) =>
  (await of.secrets.count()).map(({ state, secrets }) => `${secrets} ${state}`);

/** Secrets, of these, that signed the test delivery of a webhook. */
async function signers(of: Process, id: string, secrets: string[]): Promise<string[]> {
  const from = sent.length;
  await of.test(caller, id);
  return sent.slice(from).flatMap(({ headers, body }) => {
    const at = Number(headers['webhook-timestamp']) * 1000;
    const signatures = headers['webhook-signature']!.split(' ');
    return secrets.filter((secret) =>
      signatures.includes(signedHeaders([secret], headers['webhook-id']!, at, body)['webhook-signature']),
    );
  });
}

it('C20: secrets are sealed, rotated to another key while the old one is accepted, and sign all the time', async () => {
  const plain = await processWith(undefined);
  const clear = await create(plain);
  expect(await stored()).toEqual([clear.secret]);
  await plain.stop();

  const one = await processWith(first);
  expect(logged).toMatchObject([[expect.stringContaining('offpeak secrets rotate'), { secrets: 1 }]]);
  const sealed = await create(one);
  const both = [clear.secret, sealed.secret];
  expect(await states(one)).toEqual(['1 current', '1 clear']);
  expect(await signers(one, clear.webhook.id, both)).toEqual([clear.secret]);
  expect(await signers(one, sealed.webhook.id, both)).toEqual([sealed.secret]);
  expect((await one.secrets.reseal()).map(({ state, secrets }) => [state, secrets])).toEqual([
    ['current', 2],
  ]);
  expect((await stored()).join()).not.toContain('whsec_');

  // During a rotation, processes with either main key work beside each other.
  const two = await processWith(second, [first]);
  const careful = await processWith(first, [second]);
  const third = await create(two);
  for (const process of [two, careful])
    for (const { webhook, secret } of [clear, sealed, third])
      expect(await signers(process, webhook.id, [...both, third.secret])).toEqual([secret]);
  expect(await states(two)).toEqual(['1 current', '2 accepted']);
  await two.secrets.reseal();
  expect(await states(two)).toEqual(['3 current']);

  const after = await processWith(second);
  for (const { webhook, secret } of [clear, sealed, third])
    expect(await signers(after, webhook.id, [...both, third.secret])).toEqual([secret]);
  for (const process of [one, two, careful, after]) await process.stop();
});

it('C20: a previous secret is resealed while it signs, and dropped once it is over', async () => {
  const one = await processWith(first);
  const { webhook, secret } = await create(one);
  const { secret: next } = await one.rotate(caller, webhook.id);
  expect((await stored()).join()).not.toContain('whsec_');
  const two = await processWith(second, [first]);
  await two.secrets.reseal();
  expect(await signers(await processWith(second), webhook.id, [secret, next])).toEqual([secret, next]);
  clock.jump(86_400_001);
  await (await processWith(first, [second])).secrets.reseal();
  expect(await store.webhooks.secrets('', 9)).toMatchObject([{ oldSecret: null }]);
  expect(await signers(await processWith(first), webhook.id, [secret, next])).toEqual([next]);
});

it('C20: secrets stay in clear while a server of version 0.1.0 runs, which would sign with the sealed text', async () => {
  const one = await processWith(first);
  isOlderAlive = true;
  const { webhook, secret } = await create(one);
  const { secret: next } = await one.rotate(caller, webhook.id);
  expect(await stored()).toEqual([next]);
  expect(logged).toEqual([
    [expect.stringContaining('run offpeak secrets rotate'), { webhook: webhook.id }],
    [expect.stringContaining('run offpeak secrets rotate'), { webhook: webhook.id }],
  ]);
  await expect(one.secrets.reseal()).rejects.toMatchObject({ code: 'older_server' });
  isOlderAlive = false;
  await one.secrets.reseal();
  expect((await stored()).join()).not.toContain('whsec_');
  expect(await signers(one, webhook.id, [secret, next])).toEqual([secret, next]);
});

it('C20: nothing is sent unsigned while no configured key opens the secret, and the delivery waits', async () => {
  const one = await processWith(first);
  const { webhook } = await create(one);
  const lost = await processWith(second);
  expect(logged).toMatchObject([[expect.stringContaining('accepted_secrets_keys'), { secrets: 1 }]]);
  expect(await lost.test(caller, webhook.id)).toMatchObject({
    status: 'failed',
    lastError: 'The server cannot open the signing secret of this webhook.',
  });
  expect(sent).toEqual([]);
  expect(await states(lost)).toEqual(['0 current', '1 unknown']);
  // It is left as it is, so that adding the key brings it back.
  const before = await stored();
  expect((await lost.secrets.reseal()).map(({ state }) => state)).toEqual(['current', 'unknown']);
  expect(await stored()).toEqual(before);
  // A new secret helps, too.
  const { secret } = await lost.rotate(caller, webhook.id);
  expect(await signers(lost, webhook.id, [secret])).toEqual([secret]);
});

it('C20: secrets that change while they are resealed keep their new value', async () => {
  const one = await processWith(first);
  const { webhook } = await create(one);
  const replace = store.webhooks.replaceSecrets.bind(store.webhooks);
  const two = await processWith(second, [first]);
  let rotated: string | undefined;
  store.webhooks.replaceSecrets = async (known, next) => {
    rotated ??= (await two.rotate(caller, webhook.id)).secret;
    return replace(known, next);
  };
  await two.secrets.reseal();
  expect(await signers(two, webhook.id, [rotated!])).toEqual([rotated]);
});

it('C20: a server without a key says so, and refuses to rotate', async () => {
  const plain = await processWith(undefined);
  expect(logged).toEqual([]);
  await create(plain);
  await expect(plain.secrets.reseal()).rejects.toMatchObject({ code: 'no_secrets_key' });
  await processWith(undefined);
  expect(logged).toMatchObject([[expect.stringContaining('stored in clear'), { secrets: 1 }]]);
});

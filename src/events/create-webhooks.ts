import { createFairGate } from '../base/fair-gate.ts';
import type { Ids } from '../base/ids.ts';
import { ApiError, invalid, notFound } from '../core/errors.ts';
import { testEventType, type Webhook } from '../core/webhook.ts';
import type { Store } from '../store/store.ts';
import { EgressError } from './egress.ts';
import { createSecretBox, type SecretsKeys } from './secret-box.ts';
import { createSender, deliveryLeaseMs, type SenderDeps } from './sender.ts';
import { makeSecret } from './signature.ts';
import { createStoredSecrets, reportSecrets } from './stored-secrets.ts';
import type { Webhooks } from './webhooks.ts';

export interface WebhooksDeps extends Omit<SenderDeps, 'store' | 'worker' | 'box'> {
  store: Pick<Store, 'webhooks' | 'scrub'> & { workers: Pick<Store['workers'], 'hasFirstVersion'> };
  ids: Ids;
  secretsKeys: SecretsKeys;
}

const maxPerOrg = 20;
/** Concurrent test deliveries in total and for one org, low enough to leave room for other orgs. */
const testLimits = { capacity: 64, maxPerOwner: 8 };
/** Time that a replaced secret keeps signing. */
const oldSecretMs = 86_400_000;

export function createWebhooks(deps: WebhooksDeps): Webhooks {
  const { egress, clock, random, ids, log } = deps;
  const store = deps.store.webhooks;
  const worker = ids.next('wrk_');
  const tests = createFairGate(testLimits);
  const box = createSecretBox(deps.secretsKeys, { random, log });
  const hasFirstVersion = () => deps.store.workers.hasFirstVersion();
  const secrets = createStoredSecrets({
    store,
    hasFirstVersion,
    scrub: () => deps.store.scrub(),
    box,
    clock,
    log,
  });
  const sender = createSender({ ...deps, store, worker, box });

  async function checkUrl(url: string, orgId: string): Promise<void> {
    try {
      await egress.check(url, orgId);
    } catch (error) {
      throw error instanceof EgressError ? invalid('url', error.message) : error;
    }
  }

  /** Form in which a secret is stored: in clear while a server of version 0.1.0 runs, which cannot open a sealed one. */
  async function storedForm(secret: string, id: string): Promise<string> {
    if (box.keyId === undefined || !(await hasFirstVersion())) return box.seal(secret, id);
    log.warn(
      { webhook: id },
      'a webhook secret is stored in clear while a server of version 0.1.0 runs: run offpeak secrets rotate once it is replaced',
    );
    return secret;
  }

  function required(webhook: Webhook | undefined): Webhook {
    if (!webhook) throw notFound('webhook');
    return webhook;
  }

  async function sendTest(orgId: string, id: string) {
    const at = clock.now();
    const event = { id: ids.next('evt_'), type: testEventType, at, resourceId: id } as const;
    const made = { id: ids.next('dlv_'), event };
    const claimed = await store.addClaimed(worker, orgId, id, made, deliveryLeaseMs);
    if (!claimed) throw notFound('webhook');
    const { status, answered, error } = await sender.sendOnce(claimed);
    return { ...claimed, status, lastAttemptAt: at, lastStatus: answered, lastError: error };
  }

  return {
    async start() {
      reportSecrets(await secrets.count(), box, log);
      await sender.start();
    },
    stop: () => sender.stop(),
    secrets,

    async create({ orgId }, input) {
      // Saves a slow look-up; `insert` checks the limit again.
      const existing = await store.list(orgId, { limit: maxPerOrg });
      if (existing.length >= maxPerOrg) throw tooMany();
      await checkUrl(input.url, orgId);
      const webhook: Webhook = {
        ...input,
        id: ids.next('wh_'),
        orgId,
        createdAt: clock.now(),
        disabledAt: null,
        disabledReason: null,
      };
      const secret = makeSecret(random);
      if (await store.insert(webhook, await storedForm(secret, webhook.id), maxPerOrg))
        return { webhook, secret };
      throw tooMany();
    },

    get: async ({ orgId }, id) => required(await store.get(orgId, id)),

    async list({ orgId }, { limit, ...query }) {
      const page = await store.list(orgId, { ...query, limit: limit + 1 });
      return { webhooks: page.slice(0, limit), hasMore: page.length > limit };
    },

    async update({ orgId }, id, { enabled, ...changes }) {
      if (changes.url !== undefined) {
        // An unknown id is `not_found`, even with an invalid URL.
        required(await store.get(orgId, id));
        await checkUrl(changes.url, orgId);
      }
      const switched =
        enabled === undefined
          ? {}
          : enabled
            ? { disabledAt: null, disabledReason: null }
            : { disabledAt: clock.now(), disabledReason: 'Disabled by a request.' };
      return required(await store.update(orgId, id, { ...changes, ...switched }));
    },

    async rotate({ orgId }, id) {
      const secret = makeSecret(random);
      const stored = await storedForm(secret, id);
      const webhook = required(await store.rotate(orgId, id, stored, clock.now() + oldSecretMs));
      return { webhook, secret };
    },

    async remove({ orgId }, id) {
      if (!(await store.remove(orgId, id))) throw notFound('webhook');
    },

    async deliveries({ orgId }, id, { limit, ...query }) {
      required(await store.get(orgId, id));
      const page = await store.deliveries(orgId, id, { ...query, limit: limit + 1 });
      return { deliveries: page.slice(0, limit), hasMore: page.length > limit };
    },

    async replay({ orgId }, id) {
      const replayed = await store.replay(orgId, id, { id: ids.next('dlv_'), now: clock.now() });
      if (replayed.outcome === 'missing') throw notFound('delivery');
      if (replayed.outcome === 'disabled')
        throw new ApiError('webhook_disabled', 'The webhook is disabled. Enable it first.');
      sender.wake();
      return replayed.delivery;
    },

    async test({ orgId }, id) {
      const leave = sender.hasRoom ? tests.tryEnter(orgId, 1) : undefined;
      if (!leave)
        throw new ApiError(
          'server_overloaded',
          'Too many webhook deliveries are in flight. Try again in a moment.',
          { retryAfter: 5 },
        );
      try {
        return await sendTest(orgId, id);
      } finally {
        leave();
      }
    },
  };
}

function tooMany(): ApiError {
  return new ApiError(
    'too_many_webhooks',
    `An org can have at most ${maxPerOrg} webhooks. Delete one first.`,
  );
}

import { describe, expect, test } from 'vitest';
import type { Delivery, Webhook } from '../../../src/core/webhook.ts';
import type { ClaimedDelivery } from '../../../src/store/contract/webhooks.ts';
import type { Stores } from '../conformance.ts';
import {
  addBatch,
  claimClosing,
  closeBatch,
  hour,
  makeOrg,
  makeWebhook,
  nextId,
  start,
} from '../fixtures.ts';

export function webhookTests(on: Stores): void {
  const minute = 60_000;
  const wide = { leaseMs: minute, limit: 100, each: 100, busy: [] };
  const done = { status: 'delivered', answered: 200, error: null } as const;
  const add = async (fields: Partial<Webhook> = {}, secret = 'one') => {
    const webhook = makeWebhook(fields);
    expect(await on.store.webhooks.insert(webhook, secret, 100)).toBe(true);
    return webhook;
  };
  /** Stores a batch that ended as cancelled, at a time of its own. */
  let ends = 0;
  const cancelled = async (orgId = 'org_a') => {
    const batch = await addBatch(on.store, { orgId });
    await on.store.batches.cancel(orgId, batch.id, start, 0);
    return closeBatch(on.store, batch.id, start + ++ends);
  };
  const deliveriesOf = ({ orgId, id }: Webhook) => on.store.webhooks.deliveries(orgId, id, { limit: 100 });
  const claim = (worker = 'w', options: Partial<typeof wide> = {}) =>
    on.store.webhooks.claim(worker, { ...wide, ...options });
  const idsOf = (deliveries: Delivery[]) => deliveries.map(({ id }) => id).toSorted();

  describe('webhooks', () => {
    test('are stored, listed newest first, changed and removed, by their org alone', async () => {
      const [first, second] = [await add(), await add({ name: 'other', url: 'https://example.org/' })];
      await add({ orgId: 'org_b' });
      expect(await on.store.webhooks.list('org_a', { limit: 9 })).toEqual([second, first]);
      expect(await on.store.webhooks.list('org_a', { limit: 9, after: second.id })).toEqual([first]);
      expect(await on.store.webhooks.list('org_a', { limit: 1 })).toEqual([second]);
      expect(await on.store.webhooks.get('org_a', first.id)).toEqual(first);
      const changes = { url: 'https://example.net/', eventTypes: ['batch.failed' as const] };
      expect(await on.store.webhooks.update('org_a', first.id, changes)).toEqual({ ...first, ...changes });
      expect(await on.store.webhooks.update('org_a', first.id, {})).toEqual({ ...first, ...changes });
      for (const [orgId, id] of [
        ['org_b', first.id],
        ['org_a', nextId('wh_')],
      ] as const) {
        expect(await on.store.webhooks.get(orgId, id)).toBeUndefined();
        expect(await on.store.webhooks.update(orgId, id, { name: 'mine' })).toBeUndefined();
        expect(await on.store.webhooks.rotate(orgId, id, 'mine', start)).toBeUndefined();
        expect(await on.store.webhooks.remove(orgId, id)).toBe(false);
        expect(await on.store.webhooks.deliveries(orgId, id, { limit: 9 })).toEqual([]);
      }
      expect(await on.store.webhooks.remove('org_a', first.id)).toBe(true);
      expect(await on.store.webhooks.remove('org_a', first.id)).toBe(false);
      expect(await on.store.webhooks.list('org_a', { limit: 9 })).toEqual([second]);
    });

    test('are limited per org, also when they are created concurrently', async () => {
      const org = makeOrg();
      await on.store.orgs.insert(org);
      const made = await Promise.all(
        [on.store, on.other, on.store, on.other, on.store].map((store) =>
          store.webhooks.insert(makeWebhook({ orgId: org.id }), 's', 3),
        ),
      );
      expect(made.filter(Boolean)).toHaveLength(3);
      expect(await on.store.webhooks.list(org.id, { limit: 9 })).toHaveLength(3);
    });

    test('C20: replace the stored form of their secrets, unless these changed meanwhile', async () => {
      const webhook = await add({}, 'first');
      await on.store.webhooks.rotate('org_a', webhook.id, 'second', start + hour);
      const before = `${webhook.id.slice(0, -1)}/`;
      const [row, ...others] = await on.store.webhooks.secrets(before, 1);
      expect(others).toEqual([]);
      expect(row).toEqual({
        id: webhook.id,
        secret: 'second',
        oldSecret: 'first',
        oldSecretUntil: start + hour,
      });
      const sealed = { secret: 'sealed second', oldSecret: null };
      for (const stale of [
        { ...row!, secret: 'first' },
        { ...row!, oldSecret: null },
      ])
        expect(await on.store.webhooks.replaceSecrets(stale, sealed)).toBe(false);
      expect(await on.store.webhooks.replaceSecrets(row!, sealed)).toBe(true);
      expect(await on.store.webhooks.secrets(before, 1)).toEqual([{ ...row, ...sealed }]);
      expect(await on.store.webhooks.secrets('wh_~', 9)).toEqual([]);
    });

    test('are removed with their deliveries', async () => {
      const [webhook, kept] = [await add(), await add()];
      await cancelled();
      await on.store.webhooks.remove('org_a', webhook.id);
      expect(await deliveriesOf(webhook)).toEqual([]);
      expect(idsOf(await claim())).toEqual(idsOf(await deliveriesOf(kept)));
    });
  });

  describe('events', () => {
    test('are written when a batch ends, for each webhook of the org that subscribes to them', async () => {
      const [webhook, twin] = [await add(), await add()];
      const others = [
        await add({ eventTypes: ['batch.completed'] }),
        await add({ orgId: 'org_b' }),
        await add({ disabledAt: start, disabledReason: 'gone' }),
      ];
      const batch = await cancelled();
      const [delivery] = await deliveriesOf(webhook);
      const at = start + ends;
      expect(delivery).toEqual({
        id: expect.stringMatching(/^dlv_[0-9a-f]{32}$/),
        webhookId: webhook.id,
        event: {
          id: expect.stringMatching(/^evt_[0-9a-f]{32}$/),
          type: 'batch.cancelled',
          at,
          resourceId: batch.id,
        },
        createdAt: at,
        status: 'pending',
        attempts: 0,
        nextAttemptAt: at,
        lastAttemptAt: null,
        lastStatus: null,
        lastError: null,
      });
      const [same] = await deliveriesOf(twin);
      expect([same!.event, same!.id === delivery!.id]).toEqual([delivery!.event, false]);
      for (const other of others) expect(await deliveriesOf(other)).toEqual([]);
    });

    test('are not written by an end that is not published', async () => {
      const webhook = await add();
      const batch = await addBatch(on.store);
      await on.store.batches.cancel('org_a', batch.id, start, 0);
      const closing = await claimClosing(on.store, 'c', batch.id);
      const none = { output: null, errors: null };
      expect(await on.store.batches.publish('c', closing, none, start)).toBe('incomplete');
      expect(await on.store.batches.publish('d', closing, none, start)).toBe('fenced');
      expect(await deliveriesOf(webhook)).toEqual([]);
    });

    test('are written once when several processes publish concurrently', async () => {
      const webhook = await add();
      const batch = await addBatch(on.store);
      const fault = { code: 'batch_failed', message: 'They differ.', param: null, line: null };
      await on.store.batches.cancel('org_a', batch.id, start, 0);
      const closing = await claimClosing(on.store, 'c', batch.id);
      const none = { output: null, errors: null };
      await Promise.all(
        [on.store, on.other, on.store].map((store) =>
          store.batches.publish('c', closing, none, start, fault),
        ),
      );
      expect(await deliveriesOf(webhook)).toHaveLength(1);
    });

    test('report once that a batch is at risk, and not after its end is decided', async () => {
      const webhook = await add();
      const batch = await addBatch(on.store);
      const told = await Promise.all(
        [on.store, on.other, on.store].map((store) => store.batches.markAtRisk(batch.id, start + 5)),
      );
      expect(told.filter(Boolean)).toHaveLength(1);
      expect(await on.store.batches.markAtRisk(batch.id, start + 6)).toBe(false);
      expect(await on.store.batches.markAtRisk('batch_unknown', start)).toBe(false);
      expect(await deliveriesOf(webhook)).toMatchObject([
        { event: { type: 'batch.at_risk', at: start + 5, resourceId: batch.id } },
      ]);
      const ending = await addBatch(on.store);
      await on.store.batches.cancel('org_a', ending.id, start, 0);
      expect(await on.store.batches.markAtRisk(ending.id, start)).toBe(false);
      expect(await deliveriesOf(webhook)).toHaveLength(1);
    });
  });

  describe('deliveries', () => {
    const finish = (claimed: ClaimedDelivery, worker = 'w') =>
      on.store.webhooks.finish(worker, claimed, done);

    test('are leased to one process, with all data to send them', async () => {
      const webhook = await add({}, 'secret');
      await cancelled();
      const taken = (
        await Promise.all([on.store, on.other].map((store) => store.webhooks.claim('w', wide)))
      ).flat();
      expect(taken).toMatchObject([
        { webhookId: webhook.id, attempts: 1, url: webhook.url, secrets: ['secret'], nextAttemptAt: null },
      ]);
      expect(await claim('v')).toEqual([]);
    });

    test('are signed with the previous secret too, as long as it is valid', async () => {
      const webhook = await add({}, 'one');
      const now = Date.now();
      await on.store.webhooks.rotate('org_a', webhook.id, 'two', now + hour);
      await cancelled();
      expect((await claim())[0]!.secrets).toEqual(['two', 'one']);
      await on.store.webhooks.release('w');
      await on.store.webhooks.rotate('org_a', webhook.id, 'three', now + hour);
      expect((await claim())[0]!.secrets).toEqual(['three', 'two']);
      await on.store.webhooks.release('w');
      await on.store.webhooks.rotate('org_a', webhook.id, 'four', now - hour);
      expect((await claim())[0]!.secrets).toEqual(['four']);
    });

    test('are finished by their holder, and then cannot be claimed again', async () => {
      const webhook = await add();
      await cancelled();
      const [claimed] = await claim();
      expect(await finish(claimed!, 'v')).toBe(false);
      expect(await finish({ ...claimed!, attempts: 2 })).toBe(false);
      expect(await finish(claimed!)).toBe(true);
      expect(await finish(claimed!)).toBe(false);
      expect(await claim()).toEqual([]);
      expect(await deliveriesOf(webhook)).toMatchObject([
        {
          status: 'delivered',
          attempts: 1,
          nextAttemptAt: null,
          lastStatus: 200,
          lastAttemptAt: expect.any(Number),
        },
      ]);
    });

    test('are claimed again when they are due, and when a lease has lapsed', async () => {
      const webhook = await add();
      await cancelled();
      const [first] = await claim('w', { leaseMs: -1 });
      const [second] = await claim('v');
      expect(second).toMatchObject({ id: first!.id, attempts: 2, event: first!.event });
      expect(await finish(first!)).toBe(false);
      const later = { status: 'pending', answered: 503, error: 'It answered 503.' } as const;
      expect(await on.store.webhooks.finish('v', second!, { ...later, retryInMs: hour })).toBe(true);
      expect(await claim()).toEqual([]);
      expect(await deliveriesOf(webhook)).toMatchObject([
        { status: 'pending', lastStatus: 503, lastError: 'It answered 503.' },
      ]);
      const [{ nextAttemptAt, lastAttemptAt }] = (await deliveriesOf(webhook)) as [Delivery];
      expect(nextAttemptAt! - lastAttemptAt!).toBe(hour);
    });

    test('are released for one process, or for all', async () => {
      await add();
      for (let i = 0; i < 2; i++) await cancelled();
      const mine = await claim('w', { limit: 1 });
      const theirs = await claim('v');
      expect([mine.length, theirs.length]).toEqual([1, 1]);
      expect(await on.store.webhooks.release('w')).toBe(1);
      expect(idsOf(await claim('u'))).toEqual(idsOf(mine));
      expect(await on.store.webhooks.release(null)).toBe(2);
      expect(idsOf(await claim('u'))).toEqual(idsOf([...mine, ...theirs]));
    });

    test('are claimed in rotation: a few of each webhook, none of busy ones', async () => {
      const [many, few, busy] = [await add(), await add({ orgId: 'org_b' }), await add({ orgId: 'org_c' })];
      for (const org of ['org_a', 'org_a', 'org_a', 'org_a', 'org_b', 'org_c']) await cancelled(org);
      const turn = async (options: Partial<typeof wide>) =>
        (await claim('w', options)).map(({ webhookId }) => webhookId).toSorted();
      const oldest = (await deliveriesOf(many)).slice(-2);
      // The first of each webhook come before the second of any, although all those of one webhook are older.
      expect(await turn({ limit: 2, each: 2, busy: [busy.id] as never })).toEqual(
        [many.id, few.id].toSorted(),
      );
      expect(await turn({ limit: 9, each: 1 })).toEqual([many.id, busy.id].toSorted());
      const claimed = (await deliveriesOf(many)).filter(({ attempts }) => attempts === 1);
      expect(idsOf(claimed)).toEqual(idsOf(oldest));
    });

    test('are given up when their webhook is disabled, by its owner or by its receiver', async () => {
      const [webhook, gone] = [await add(), await add()];
      await cancelled();
      await cancelled();
      const claimed = (await claim()).filter(({ webhookId }) => webhookId === gone.id);
      const disabled = { disabledAt: start + 9, disabledReason: 'by hand' };
      expect(await on.store.webhooks.update('org_a', webhook.id, disabled)).toMatchObject(disabled);
      const [first] = claimed;
      const refused = {
        status: 'failed',
        answered: 410,
        error: 'It answered 410.',
        disable: 'Gone.',
      } as const;
      expect(await on.store.webhooks.finish('w', first!, refused)).toBe(true);
      expect(await on.store.webhooks.get('org_a', gone.id)).toMatchObject({
        disabledAt: expect.any(Number),
        disabledReason: 'Gone.',
      });
      await on.store.webhooks.release(null);
      expect(await claim()).toEqual([]);
      const errors = [...(await deliveriesOf(webhook)), ...(await deliveriesOf(gone))].map(
        ({ status, lastError }) => `${status}: ${lastError}`,
      );
      const given = 'failed: The webhook was disabled.';
      expect(errors.toSorted()).toEqual(['failed: It answered 410.', given, given, given]);
    });

    test('are replayed as new deliveries of the same event', async () => {
      const webhook = await add();
      await cancelled();
      const [claimed] = await claim();
      await finish(claimed!);
      const replay = { id: nextId('dlv_'), now: start + hour };
      expect(await on.store.webhooks.replay('org_b', claimed!.id, replay)).toEqual({ outcome: 'missing' });
      expect(await on.store.webhooks.replay('org_a', nextId('dlv_'), replay)).toEqual({ outcome: 'missing' });
      expect(await on.store.webhooks.replay('org_a', claimed!.id, replay)).toMatchObject({
        outcome: 'added',
        delivery: { id: replay.id, event: claimed!.event, status: 'pending', attempts: 0 },
      });
      expect(await claim()).toMatchObject([{ id: replay.id, event: claimed!.event, attempts: 1 }]);
      await on.store.webhooks.update('org_a', webhook.id, { disabledAt: start, disabledReason: 'x' });
      const outcome = await on.store.webhooks.replay('org_a', claimed!.id, { ...replay, id: nextId('dlv_') });
      expect(outcome).toEqual({ outcome: 'disabled' });
    });

    test('of a test are claimed from the start', async () => {
      const webhook = await add({ disabledAt: start, disabledReason: 'x' }, 'secret');
      const event = { id: nextId('evt_'), type: 'webhook.test', at: start, resourceId: webhook.id } as const;
      const made = { id: nextId('dlv_'), event };
      expect(await on.store.webhooks.addClaimed('w', 'org_b', webhook.id, made, minute)).toBeUndefined();
      const claimed = await on.store.webhooks.addClaimed('w', 'org_a', webhook.id, made, minute);
      expect(claimed).toMatchObject({ ...made, attempts: 1, url: webhook.url, secrets: ['secret'] });
      expect(await claim('v')).toEqual([]);
      expect(await finish(claimed!)).toBe(true);
    });

    test('are counted while they wait, up to a maximum, with the time of the oldest', async () => {
      const { count: before, oldestAt } = await on.store.webhooks.waiting(1_000);
      await add();
      for (let i = 0; i < 3; i++) await cancelled();
      const after = await on.store.webhooks.waiting(1_000);
      expect(after.count).toBe(before + 3);
      expect(after.oldestAt).toBe(oldestAt ?? start + ends - 2);
      expect((await on.store.webhooks.waiting(2)).count).toBe(2);
      for (const delivery of await claim()) await finish(delivery);
      expect(await on.store.webhooks.waiting(1_000)).toEqual({ count: 0, oldestAt: null });
    });

    test('are swept when they are old', async () => {
      const webhook = await add();
      for (let i = 0; i < 3; i++) await cancelled();
      const [newest] = await deliveriesOf(webhook);
      expect(await on.store.webhooks.removeDeliveries(newest!.createdAt, 1)).toBe(1);
      expect(await on.store.webhooks.removeDeliveries(newest!.createdAt, 9)).toBe(1);
      expect(idsOf(await deliveriesOf(webhook))).toEqual([newest!.id]);
    });
  });
}

import { derivedId } from '../../../base/ids.ts';
import type { Delivery, EventType, Webhook, WebhookEvent } from '../../../core/webhook.ts';
import type { Db, Queries } from '../../db.ts';
import type { ClaimedDelivery, WebhookStore } from '../../contract/webhooks.ts';
import { inLists } from '../statement.ts';
import { tableOf } from '../table.ts';

type Deliveries = Omit<
  WebhookStore,
  'insert' | 'get' | 'list' | 'update' | 'rotate' | 'secrets' | 'replaceSecrets' | 'remove'
>;

interface DeliveryRow extends Omit<Delivery, 'event' | 'nextAttemptAt'> {
  orgId: string;
  eventId: string;
  eventType: WebhookEvent['type'];
  eventAt: number;
  resourceId: string;
  owner: string | null;
  dueAt: number | null;
}

const deliveries = tableOf<DeliveryRow, 'orgId'>('webhook_deliveries', { unread: ['orgId'] })(
  'id orgId webhookId eventId eventType eventAt resourceId createdAt status attempts owner dueAt',
  'lastAttemptAt lastStatus lastError',
);

/** Columns of a webhook for sending to it. */
interface Receiver extends Pick<Webhook, 'id' | 'orgId' | 'url' | 'disabledAt'> {
  secret: string;
  oldSecret: string | null;
  oldSecretUntil: number | null;
}

const receivers = tableOf<Receiver>('webhooks')('id orgId url secret oldSecret oldSecretUntil disabledAt');

/** Deliveries, leased like chunks, but each for a fixed time without heartbeats. */
export function createDeliveries(db: Db): Deliveries {
  return {
    async deliveries(orgId, webhookId, { after, limit }) {
      const where = { webhookId, orgId, 'id < ?': after };
      return (await deliveries.all(db, where, 'ORDER BY id DESC LIMIT ?', [limit])).map(toDelivery);
    },

    replay: (orgId, id, { id: newId, now }) =>
      db.tx(async (q) => {
        const row = await deliveries.first(q, { id, orgId });
        const webhook = row && (await receivers.first(q, { id: row.webhookId }, q.forUpdate));
        if (!webhook) return { outcome: 'missing' };
        if (webhook.disabledAt !== null) return { outcome: 'disabled' };
        const { event } = toDelivery(row);
        const added = await insert(q, { id: newId, orgId, webhookId: webhook.id, event, now });
        return { outcome: 'added', delivery: toDelivery(added) };
      }),

    async addClaimed(worker, orgId, webhookId, { id, event }, leaseMs) {
      const now = await db.now();
      return db.tx(async (q) => {
        const webhook = await receivers.first(q, { id: webhookId, orgId }, q.forUpdate);
        if (!webhook) return undefined;
        const lease = { owner: worker, until: now + leaseMs };
        return toClaimed(await insert(q, { id, orgId, webhookId, event, now, lease }), webhook, now);
      });
    },

    async claim(worker, { leaseMs, limit, each, busy }) {
      const now = await db.now();
      const due = await db.all('SELECT 1 AS one FROM webhook_deliveries WHERE due_at <= ? LIMIT 1', [now]);
      if (due.length === 0) return [];
      return db.tx(async (q) => {
        const [list] = inLists(await findFirst(q, { now, each, limit, busy }));
        if (!list) return [];
        const claimed = await q.all(
          `UPDATE webhook_deliveries SET owner = ?, due_at = ?, attempts = attempts + 1 WHERE id IN (
             SELECT id FROM webhook_deliveries WHERE id IN ${list.sql} AND due_at <= ? ${q.skipLocked}
           ) RETURNING ${deliveries.fields}`,
          [worker, now + leaseMs, ...list.params, now],
        );
        const rows = claimed.map(deliveries.read);
        const ids = new Set(rows.map((row) => row.webhookId));
        const webhooks = new Map(
          (await receivers.among(q, 'id', [...ids])).map((found) => [found.id, found]),
        );
        return rows.flatMap((row) => {
          const webhook = webhooks.get(row.webhookId);
          return webhook ? toClaimed(row, webhook, now) : [];
        });
      });
    },

    async finish(worker, { id, webhookId, attempts }, { status, answered, error, retryInMs, disable }) {
      const now = await db.now();
      return db.tx(async (q) => {
        if (disable !== undefined)
          await q.all(
            'UPDATE webhooks SET disabled_at = ?, disabled_reason = ? WHERE id = ? AND disabled_at IS NULL',
            [now, disable, webhookId],
          );
        const set = {
          owner: null,
          status,
          dueAt: retryInMs === undefined ? null : now + retryInMs,
          lastAttemptAt: now,
          lastStatus: answered,
          lastError: error,
        };
        const finished = await deliveries.change(q, set, { id, owner: worker, attempts });
        if (disable !== undefined) await failPending(q, webhookId);
        return finished > 0;
      });
    },

    async release(worker) {
      const mine = {
        'due_at IS NOT NULL': [],
        ...(worker === null ? { 'owner IS NOT NULL': [] } : { owner: worker }),
      };
      return deliveries.change(db, { owner: null, dueAt: await db.now() }, mine);
    },

    async waiting(max) {
      const [row] = await db.all<{ count: number; oldestAt: number | null }>(
        `SELECT count(*) AS count, min(created_at) AS "oldestAt" FROM (
           SELECT created_at FROM webhook_deliveries WHERE due_at IS NOT NULL LIMIT ?) AS first`,
        [max],
      );
      return row!;
    },

    async removeDeliveries(before, limit) {
      const removed = await db.all(
        `DELETE FROM webhook_deliveries WHERE id IN (SELECT id FROM webhook_deliveries WHERE created_at < ?
         ORDER BY created_at, id LIMIT ? ${db.skipLocked}) RETURNING id`,
        [before, limit],
      );
      return removed.length;
    },
  };
}

/** Adds a delivery of the event for every subscribed webhook of the org. Derived ids make a repeated transaction add the same event. */
export async function addEvent(
  q: Queries,
  orgId: string,
  type: EventType,
  resourceId: string,
  at: number,
): Promise<void> {
  const webhooks = await q.all<{ id: string; event_types: string }>(
    `SELECT id, event_types FROM webhooks WHERE org_id = ? AND disabled_at IS NULL ORDER BY id ${q.forUpdate}`,
    [orgId],
  );
  const event = { id: derivedId('evt_', at, `${type} ${resourceId}`), type, at, resourceId };
  for (const { id: webhookId, event_types: wanted } of webhooks) {
    if (!(JSON.parse(wanted) as EventType[]).includes(type)) continue;
    const id = derivedId('dlv_', at, `${event.id} ${webhookId}`);
    await insert(q, { id, orgId, webhookId, event, now: at });
  }
}

/** Fails the pending deliveries of a disabled webhook. */
export async function failPending(q: Queries, webhookId: string): Promise<void> {
  await q.all(
    `UPDATE webhook_deliveries SET status = 'failed', owner = NULL, due_at = NULL,
       last_error = 'The webhook was disabled.'
     WHERE webhook_id = ? AND due_at IS NOT NULL`,
    [webhookId],
  );
}

/** First due deliveries of each webhook, by a skip scan: a receiver that is down may have very many. */
async function findFirst(
  q: Queries,
  { now, each, limit, busy }: { now: number; each: number; limit: number; busy: string[] },
): Promise<string[]> {
  const [others] = inLists(busy);
  const waiting = 'SELECT min(webhook_id) FROM webhook_deliveries WHERE due_at IS NOT NULL';
  const firstAt = (place: number) => `SELECT ${place} AS place, (
      SELECT id FROM webhook_deliveries WHERE webhook_id = idle.id AND due_at <= ?
      ORDER BY due_at, id LIMIT 1 OFFSET ${place}) AS id FROM idle`;
  const places = Array.from({ length: each }, (_, place) => firstAt(place));
  const rows = await q.all<{ id: string }>(
    `WITH RECURSIVE waiting (id) AS (
       ${waiting} UNION ALL
       SELECT (${waiting} AND webhook_id > waiting.id) FROM waiting WHERE waiting.id IS NOT NULL
     ), idle AS (
       SELECT id FROM waiting WHERE id IS NOT NULL ${others ? `AND id NOT IN ${others.sql}` : ''}
     )
     SELECT id FROM (${places.join(' UNION ALL ')}) AS found WHERE id IS NOT NULL ORDER BY place, id LIMIT ?`,
    [...(others?.params ?? []), ...places.map(() => now), limit],
  );
  return rows.map(({ id }) => id);
}

/** Inserts a delivery: due immediately, or leased for its first attempt. */
async function insert(
  q: Queries,
  made: {
    id: string;
    orgId: string;
    webhookId: string;
    event: WebhookEvent;
    now: number;
    lease?: { owner: string; until: number };
  },
): Promise<ReadRow> {
  const { id, orgId, webhookId, event, now, lease } = made;
  const row: ReadRow = {
    id,
    webhookId,
    eventId: event.id,
    eventType: event.type,
    eventAt: event.at,
    resourceId: event.resourceId,
    createdAt: now,
    status: 'pending',
    attempts: lease ? 1 : 0,
    owner: lease?.owner ?? null,
    dueAt: lease?.until ?? now,
    lastAttemptAt: null,
    lastStatus: null,
    lastError: null,
  };
  await deliveries.insert(q, [{ ...row, orgId }]);
  return row;
}

type ReadRow = Omit<DeliveryRow, 'orgId'>;

function toClaimed(row: ReadRow, webhook: Receiver, now: number): ClaimedDelivery {
  const { orgId, url, secret, oldSecret: old, oldSecretUntil: until } = webhook;
  const secrets = old !== null && (until ?? 0) > now ? [secret, old] : [secret];
  return { ...toDelivery(row), orgId, url, secrets };
}

function toDelivery(row: ReadRow): Delivery {
  const { eventId, eventType, eventAt, resourceId, owner, dueAt, ...delivery } = row;
  const event = { id: eventId, type: eventType, at: eventAt, resourceId };
  return { ...delivery, event, nextAttemptAt: owner === null ? dueAt : null };
}

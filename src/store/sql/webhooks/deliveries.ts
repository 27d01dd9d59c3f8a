import { derivedId } from '../../../base/ids.ts';
import type { Delivery, DeliveryStatus, EventType, WebhookEvent } from '../../../core/webhook.ts';
import type { Db, Queries } from '../../db.ts';
import type { ClaimedDelivery, WebhookStore } from '../../contract/webhooks.ts';
import { behindAll, inLists } from '../statement.ts';

type Deliveries = Omit<WebhookStore, 'insert' | 'get' | 'list' | 'update' | 'rotate' | 'remove'>;

interface DeliveryRow {
  id: string;
  webhook_id: string;
  event_id: string;
  event_type: WebhookEvent['type'];
  event_at: number;
  resource_id: string;
  created_at: number;
  status: DeliveryStatus;
  attempts: number;
  owner: string | null;
  due_at: number | null;
  last_attempt_at: number | null;
  last_status: number | null;
  last_error: string | null;
}

const columns = `id, webhook_id, event_id, event_type, event_at, resource_id, created_at, status, attempts, owner, due_at,
  last_attempt_at, last_status, last_error`;

/** What webhooks are told: leased like chunks, but each for its own time, so that nobody has to say that he is alive. */
export function createDeliveries(db: Db): Deliveries {
  return {
    async deliveries(orgId, webhookId, { after, limit }) {
      const rows = await db.all<DeliveryRow>(
        `SELECT ${columns} FROM webhook_deliveries WHERE webhook_id = ? AND org_id = ? AND id < ?
         ORDER BY id DESC LIMIT ?`,
        [webhookId, orgId, after ?? behindAll, limit],
      );
      return rows.map(toDelivery);
    },

    replay: (orgId, id, { id: newId, now }) =>
      db.tx(async (q) => {
        const [row] = await q.all<DeliveryRow>(
          `SELECT ${columns} FROM webhook_deliveries WHERE id = ? AND org_id = ?`,
          [id, orgId],
        );
        if (!row) return { outcome: 'missing' };
        const [webhook] = await q.all<SendingRow>(`SELECT ${sending} FROM webhooks WHERE id = ? ${q.lock}`, [
          row.webhook_id,
        ]);
        if (!webhook) return { outcome: 'missing' };
        if (webhook.disabled_at !== null) return { outcome: 'disabled' };
        const { event } = toDelivery(row);
        const added = await insert(q, { id: newId, orgId, webhookId: row.webhook_id, event, now });
        return { outcome: 'added', delivery: toDelivery(added) };
      }),

    async addClaimed(worker, orgId, webhookId, { id, event }, leaseMs) {
      const now = await db.now();
      return db.tx(async (q) => {
        const [webhook] = await q.all<SendingRow>(
          `SELECT ${sending} FROM webhooks WHERE id = ? AND org_id = ? ${q.lock}`,
          [webhookId, orgId],
        );
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
        const first = await findFirst(q, { now, each, limit, busy });
        const [list] = inLists(first);
        if (!list) return [];
        const rows = await q.all<DeliveryRow>(
          `UPDATE webhook_deliveries SET owner = ?, due_at = ?, attempts = attempts + 1 WHERE id IN (
             SELECT id FROM webhook_deliveries WHERE id IN ${list.sql} AND due_at <= ? ${q.skip}
           ) RETURNING ${columns}`,
          [worker, now + leaseMs, ...list.params, now],
        );
        const webhooks = await findSending(q, [...new Set(rows.map((row) => row.webhook_id))]);
        return rows.flatMap((row) => {
          const webhook = webhooks.get(row.webhook_id);
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
        const finished = await q.all(
          `UPDATE webhook_deliveries SET owner = NULL, status = ?, due_at = ?, last_attempt_at = ?, last_status = ?,
             last_error = ?
           WHERE id = ? AND owner = ? AND attempts = ? RETURNING id`,
          [
            status,
            retryInMs === undefined ? null : now + retryInMs,
            now,
            answered,
            error,
            id,
            worker,
            attempts,
          ],
        );
        if (disable !== undefined) await giveUp(q, webhookId);
        return finished.length > 0;
      });
    },

    async release(worker) {
      const released = await db.all(
        `UPDATE webhook_deliveries SET owner = NULL, due_at = ?
         WHERE due_at IS NOT NULL AND ${worker === null ? 'owner IS NOT NULL' : 'owner = ?'} RETURNING id`,
        [await db.now(), ...(worker === null ? [] : [worker])],
      );
      return released.length;
    },

    async removeDeliveries(before, limit) {
      const removed = await db.all(
        `DELETE FROM webhook_deliveries WHERE id IN (SELECT id FROM webhook_deliveries WHERE created_at < ?
         ORDER BY created_at, id LIMIT ? ${db.skip}) RETURNING id`,
        [before, limit],
      );
      return removed.length;
    },
  };
}

/**
 * Writes an event for every webhook of the org that wants it. Its id follows from what happened, so that whoever does the
 * transaction again, or elsewhere, tells of the same event. The webhooks stay as they are until the transaction ends.
 */
export async function tell(
  q: Queries,
  orgId: string,
  type: EventType,
  resourceId: string,
  at: number,
): Promise<void> {
  const webhooks = await q.all<{ id: string; event_types: string }>(
    `SELECT id, event_types FROM webhooks WHERE org_id = ? AND disabled_at IS NULL ORDER BY id ${q.lock}`,
    [orgId],
  );
  const event = { id: derivedId('evt_', at, `${type} ${resourceId}`), type, at, resourceId };
  for (const { id: webhookId, event_types: wanted } of webhooks) {
    if (!(JSON.parse(wanted) as EventType[]).includes(type)) continue;
    const id = derivedId('dlv_', at, `${event.id} ${webhookId}`);
    await insert(q, { id, orgId, webhookId, event, now: at });
  }
}

/** Ends what is still to be sent to a webhook that is told nothing any more. */
export async function giveUp(q: Queries, webhookId: string): Promise<void> {
  await q.all(
    `UPDATE webhook_deliveries SET status = 'failed', owner = NULL, due_at = NULL,
       last_error = 'The webhook was disabled.'
     WHERE webhook_id = ? AND due_at IS NOT NULL`,
    [webhookId],
  );
}

/**
 * The first few due deliveries of each webhook, without a look at all the others: a receiver that is away may have very
 * many. Webhooks are found by leaps through the index of what is waiting.
 */
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

/** A new delivery: due at once, or in its first attempt already. */
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
): Promise<DeliveryRow> {
  const { id, orgId, webhookId, event, now, lease } = made;
  const [row] = await q.all<DeliveryRow>(
    `INSERT INTO webhook_deliveries (id, org_id, webhook_id, event_id, event_type, event_at, resource_id, created_at,
       status, attempts, owner, due_at)
     VALUES (?, ?, ?, ?, ?, ?, ?, ?, 'pending', ?, ?, ?) RETURNING ${columns}`,
    [
      id,
      orgId,
      webhookId,
      event.id,
      event.type,
      event.at,
      event.resourceId,
      now,
      lease ? 1 : 0,
      lease?.owner ?? null,
      lease?.until ?? now,
    ],
  );
  return row!;
}

interface SendingRow {
  id: string;
  url: string;
  secret: string;
  old_secret: string | null;
  old_secret_until: number | null;
  disabled_at: number | null;
}

const sending = 'id, url, secret, old_secret, old_secret_until, disabled_at';

async function findSending(q: Queries, ids: string[]): Promise<Map<string, SendingRow>> {
  const found = new Map<string, SendingRow>();
  for (const { sql, params } of inLists(ids))
    for (const row of await q.all<SendingRow>(`SELECT ${sending} FROM webhooks WHERE id IN ${sql}`, params))
      found.set(row.id, row);
  return found;
}

function toClaimed(row: DeliveryRow, webhook: SendingRow, now: number): ClaimedDelivery {
  const { url, secret, old_secret: old, old_secret_until: until } = webhook;
  return { ...toDelivery(row), url, secrets: old !== null && (until ?? 0) > now ? [secret, old] : [secret] };
}

function toDelivery(row: DeliveryRow): Delivery {
  return {
    id: row.id,
    webhookId: row.webhook_id,
    event: { id: row.event_id, type: row.event_type, at: row.event_at, resourceId: row.resource_id },
    createdAt: row.created_at,
    status: row.status,
    attempts: row.attempts,
    nextAttemptAt: row.owner === null ? row.due_at : null,
    lastAttemptAt: row.last_attempt_at,
    lastStatus: row.last_status,
    lastError: row.last_error,
  };
}

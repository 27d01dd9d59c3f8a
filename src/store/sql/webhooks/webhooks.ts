import type { EventType, Webhook } from '../../../core/webhook.ts';
import type { Db, Value } from '../../db.ts';
import type { WebhookStore } from '../../contract/webhooks.ts';
import { giveUp } from './deliveries.ts';
import { columnsOf } from '../columns.ts';
import { behindAll, tuples } from '../statement.ts';

type Webhooks = Pick<WebhookStore, 'insert' | 'get' | 'list' | 'update' | 'rotate' | 'remove'>;

const columns = columnsOf<Webhook>('eventTypes')(
  'id orgId name url eventTypes createdAt disabledAt disabledReason',
);

/** Who is told of events. What they are told stands in `deliveries.ts`. */
export function createWebhooks(db: Db): Webhooks {
  return {
    insert: (webhook, secret, most) =>
      db.tx(async (q) => {
        // One after the other, so that the count is exact.
        await q.all(`SELECT id FROM orgs WHERE id = ? ${q.lock}`, [webhook.orgId]);
        const [row] = await q.all<{ count: number }>(
          'SELECT count(*) AS count FROM webhooks WHERE org_id = ?',
          [webhook.orgId],
        );
        if (row!.count >= most) return false;
        await q.all(
          `INSERT INTO webhooks (${columns.names}, secret) VALUES ${tuples(1, columns.count + 1)}`,
          [...columns.values(webhook), secret],
        );
        return true;
      }),

    async get(orgId, id) {
      const [row] = await db.all(`SELECT ${columns.fields} FROM webhooks WHERE id = ? AND org_id = ?`, [
        id,
        orgId,
      ]);
      return row && columns.read(row);
    },

    async list(orgId, { after, limit }) {
      const rows = await db.all(
        `SELECT ${columns.fields} FROM webhooks WHERE org_id = ? AND id < ? ORDER BY id DESC LIMIT ?`,
        [orgId, after ?? behindAll, limit],
      );
      return rows.map(columns.read);
    },

    update: (orgId, id, changes) =>
      db.tx(async (q) => {
        const sets = Object.entries(changes).map(
          ([key, value]) => [columnOf[key as keyof typeof changes], toValue(value)] as const,
        );
        const [row] = await q.all(
          `UPDATE webhooks SET ${['id = id', ...sets.map(([column]) => `${column} = ?`)].join(', ')}
           WHERE id = ? AND org_id = ? RETURNING ${columns.fields}`,
          [...sets.map(([, value]) => value), id, orgId],
        );
        if (row && typeof changes.disabledAt === 'number') await giveUp(q, id);
        return row && columns.read(row);
      }),

    async rotate(orgId, id, secret, oldUntil) {
      const [row] = await db.all(
        `UPDATE webhooks SET old_secret = secret, old_secret_until = ?, secret = ?
         WHERE id = ? AND org_id = ? RETURNING ${columns.fields}`,
        [oldUntil, secret, id, orgId],
      );
      return row && columns.read(row);
    },

    remove: (orgId, id) =>
      db.tx(async (q) => {
        const removed = await q.all('DELETE FROM webhooks WHERE id = ? AND org_id = ? RETURNING id', [
          id,
          orgId,
        ]);
        if (removed.length > 0) await q.all('DELETE FROM webhook_deliveries WHERE webhook_id = ?', [id]);
        return removed.length > 0;
      }),
  };
}

const columnOf = {
  name: 'name',
  url: 'url',
  eventTypes: 'event_types',
  disabledAt: 'disabled_at',
  disabledReason: 'disabled_reason',
} as const;

function toValue(value: string | number | null | EventType[]): Value {
  return Array.isArray(value) ? JSON.stringify(value) : value;
}

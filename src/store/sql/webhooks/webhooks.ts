import type { Webhook } from '../../../core/webhook.ts';
import type { Db } from '../../db.ts';
import type { StoredSecret, WebhookStore } from '../../contract/webhooks.ts';
import { failPending } from './deliveries.ts';
import { tableOf } from '../table.ts';

type Webhooks = Pick<
  WebhookStore,
  'insert' | 'get' | 'list' | 'update' | 'rotate' | 'secrets' | 'replaceSecrets' | 'remove'
>;

const webhooks = tableOf<Webhook & { secret: string }, 'secret'>('webhooks', {
  json: ['eventTypes'],
  unread: ['secret'],
})('id orgId name url eventTypes createdAt disabledAt disabledReason secret');

const secrets = tableOf<StoredSecret>('webhooks')('id secret oldSecret oldSecretUntil');

export function createWebhooks(db: Db): Webhooks {
  return {
    insert: (webhook, secret, max) =>
      db.tx(async (q) => {
        // Serializes inserts of the org, so that the count is exact.
        await q.all(`SELECT id FROM orgs WHERE id = ? ${q.forUpdate}`, [webhook.orgId]);
        const [row] = await q.all<{ count: number }>(
          'SELECT count(*) AS count FROM webhooks WHERE org_id = ?',
          [webhook.orgId],
        );
        if (row!.count >= max) return false;
        await webhooks.insert(q, [{ ...webhook, secret }]);
        return true;
      }),

    get: (orgId, id) => webhooks.first(db, { id, orgId }),

    list: (orgId, { after, limit }) =>
      webhooks.all(db, { orgId, 'id < ?': after }, 'ORDER BY id DESC LIMIT ?', [limit]),

    update: (orgId, id, changes) =>
      db.tx(async (q) => {
        const [webhook] = await webhooks.update(q, changes, { id, orgId });
        if (webhook && typeof changes.disabledAt === 'number') await failPending(q, id);
        return webhook;
      }),

    async rotate(orgId, id, secret, oldUntil) {
      const set = { 'old_secret = secret, old_secret_until = ?': oldUntil, secret };
      const [webhook] = await webhooks.update(db, set, { id, orgId });
      return webhook;
    },

    secrets: (after, limit) => secrets.all(db, { 'id > ?': after }, 'ORDER BY id LIMIT ?', [limit]),

    async replaceSecrets({ id, secret, oldSecret }, stored) {
      return (await secrets.change(db, { ...stored }, { id, secret, oldSecret })) > 0;
    },

    remove: (orgId, id) =>
      db.tx(async (q) => {
        const removed = await webhooks.remove(q, { id, orgId });
        if (removed > 0) await q.all('DELETE FROM webhook_deliveries WHERE webhook_id = ?', [id]);
        return removed > 0;
      }),
  };
}

import { json } from '../../answer.ts';
import { deletedWebhookSchema } from '../../openapi/answer-schemas.ts';
import type { Route } from '../../route.ts';

/** `DELETE /v1/webhooks/{webhook_id}`, with what it was and would be told. */
export const deleteWebhook: Route = {
  method: 'DELETE',
  path: '/v1/webhooks/:webhook_id',
  access: 'batches',
  id: { prefix: 'wh_', what: 'webhook' },
  docs: {
    name: 'Delete Webhook',
    summary: 'Remove a webhook and its deliveries',
    tag: 'Webhooks',
    answer: { status: 200, type: 'application/json', schema: deletedWebhookSchema },
  },
  async handle({ caller, param }, { webhooks }) {
    await webhooks.remove(caller, param);
    return json(200, { id: param, object: 'webhook_endpoint.deleted', deleted: true });
  },
};

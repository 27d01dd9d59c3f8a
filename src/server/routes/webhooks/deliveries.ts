import { listBody } from '../../../wire/list.ts';
import { presentDelivery } from '../../../wire/webhooks/delivery.ts';
import { parseWebhookListQuery } from '../../../wire/webhooks/lists.ts';
import { json } from '../../answer.ts';
import { deliverySchema, pageOf } from '../../openapi/answer-schemas.ts';
import { webhookListQuery } from '../../openapi/query-schemas.ts';
import type { Route } from '../../route.ts';

/** `GET /v1/webhooks/{webhook_id}/deliveries`, newest first. */
export const listDeliveries: Route = {
  method: 'GET',
  path: '/v1/webhooks/:webhook_id/deliveries',
  access: 'batches',
  id: { prefix: 'wh_', what: 'webhook' },
  docs: {
    name: 'List Webhook Deliveries',
    summary: 'What the webhook was told in the last 30 days, newest first',
    tag: 'Webhooks',
    query: webhookListQuery,
    answer: { status: 200, type: 'application/json', schema: pageOf(deliverySchema) },
  },
  async handle({ caller, param, query }, { webhooks }) {
    const page = await webhooks.deliveries(caller, param, parseWebhookListQuery(query, 'dlv_'));
    return json(200, listBody(page.deliveries.map(presentDelivery), page.hasMore));
  },
};

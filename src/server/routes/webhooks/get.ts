import { presentWebhook } from '../../../wire/webhooks/webhook.ts';
import { json } from '../../answer.ts';
import { webhookSchema } from '../../openapi/answer-schemas.ts';
import type { Route } from '../../route.ts';

/** `GET /v1/webhooks/{webhook_id}`. */
export const getWebhook: Route = {
  method: 'GET',
  path: '/v1/webhooks/:webhook_id',
  access: 'batches',
  id: { prefix: 'wh_', what: 'webhook' },
  docs: {
    name: 'Get Webhook',
    summary: 'One webhook, without its secret',
    tag: 'Webhooks',
    answer: { status: 200, type: 'application/json', schema: webhookSchema },
  },
  handle: async ({ caller, param }, { webhooks }) =>
    json(200, presentWebhook(await webhooks.get(caller, param))),
};

import { parseUpdateWebhook, presentWebhook, updateWebhookSchema } from '../../../wire/webhooks/webhook.ts';
import { json } from '../../answer.ts';
import { webhookSchema } from '../../openapi/answer-schemas.ts';
import { type Route, smallBody } from '../../route.ts';

/** `PATCH /v1/webhooks/{webhook_id}`. */
export const updateWebhook: Route = {
  method: 'PATCH',
  path: '/v1/webhooks/:webhook_id',
  access: 'batches',
  id: { prefix: 'wh_', what: 'webhook' },
  body: smallBody,
  docs: {
    name: 'Update Webhook',
    summary: 'Change its URL, its name or its events, or disable and enable it',
    tag: 'Webhooks',
    body: updateWebhookSchema,
    answer: { status: 200, type: 'application/json', schema: webhookSchema },
  },
  handle: async ({ caller, param, body }, { webhooks }) =>
    json(200, presentWebhook(await webhooks.update(caller, param, parseUpdateWebhook(body.text)))),
};

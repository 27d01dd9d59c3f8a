import { presentWebhook } from '../../../wire/webhooks/webhook.ts';
import { json } from '../../answer.ts';
import { newWebhookSchema } from '../../openapi/answer-schemas.ts';
import type { Route } from '../../route.ts';

/** `POST /v1/webhooks/{webhook_id}/rotate`. Whatever body comes with it is not read. */
export const rotateWebhook: Route = {
  method: 'POST',
  path: '/v1/webhooks/:webhook_id/rotate',
  access: 'batches',
  id: { prefix: 'wh_', what: 'webhook' },
  docs: {
    name: 'Rotate Webhook',
    summary: 'Make a new signing secret, shown once; the one before signs, too, for 24 hours',
    tag: 'Webhooks',
    answer: { status: 200, type: 'application/json', schema: newWebhookSchema },
  },
  async handle({ caller, param }, { webhooks }) {
    const { webhook, secret } = await webhooks.rotate(caller, param);
    return json(200, presentWebhook(webhook, secret));
  },
};

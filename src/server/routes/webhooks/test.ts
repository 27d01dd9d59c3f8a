import { presentDelivery } from '../../../wire/webhooks/delivery.ts';
import { json } from '../../answer.ts';
import { deliverySchema } from '../../openapi/answer-schemas.ts';
import type { Route } from '../../route.ts';

/** `POST /v1/webhooks/{webhook_id}/test`. Whatever body comes with it is not read. */
export const testWebhook: Route = {
  method: 'POST',
  path: '/v1/webhooks/:webhook_id/test',
  access: 'batches',
  id: { prefix: 'wh_', what: 'webhook' },
  docs: {
    name: 'Test Webhook',
    summary: 'Send it an event of the type webhook.test, once, and tell how that went',
    tag: 'Webhooks',
    answer: { status: 200, type: 'application/json', schema: deliverySchema },
  },
  handle: async ({ caller, param }, { webhooks }) =>
    json(200, presentDelivery(await webhooks.test(caller, param))),
};

import { presentDelivery } from '../../../wire/webhooks/delivery.ts';
import { json } from '../../answer.ts';
import { deliverySchema } from '../../openapi/answer-schemas.ts';
import type { Route } from '../../route.ts';

/** `POST /v1/webhooks/deliveries/{delivery_id}/replay`. Whatever body comes with it is not read. */
export const replayDelivery: Route = {
  method: 'POST',
  path: '/v1/webhooks/deliveries/:delivery_id/replay',
  access: 'batches',
  id: { prefix: 'dlv_', what: 'delivery' },
  docs: {
    name: 'Replay Webhook Delivery',
    summary: 'Tell of the same event again, in a new delivery',
    tag: 'Webhooks',
    answer: { status: 201, type: 'application/json', schema: deliverySchema },
  },
  handle: async ({ caller, param }, { webhooks }) =>
    json(201, presentDelivery(await webhooks.replay(caller, param))),
};

import { listBody } from '../../wire/shared/list-body.ts';
import {
  presentDelivery,
  parseWebhookListQuery,
  createWebhookSchema,
  parseCreateWebhook,
  parseUpdateWebhook,
  presentWebhook,
  updateWebhookSchema,
} from '../../wire/webhooks/webhook.ts';
import { json } from '../answer/answer.ts';
import {
  deletedWebhookSchema,
  deliverySchema,
  newWebhookSchema,
  pageOf,
  webhookSchema,
} from '../openapi/answer-schemas.ts';
import { webhookListQuery } from '../openapi/query-schemas.ts';
import { smallBody, defineRoutes } from './define-routes.ts';

export const webhookRoutes = defineRoutes({ access: 'batches', tag: 'Webhooks' }, [
  {
    on: 'POST /v1/webhooks',
    name: 'Create Webhook',
    summary: 'Create a webhook that sends events to an endpoint. Its signing secret is shown only once',
    body: createWebhookSchema,
    maxBytes: smallBody,
    status: 201,
    answer: newWebhookSchema,
    async handle({ caller, body }, { webhooks }) {
      const { webhook, secret } = await webhooks.create(caller, parseCreateWebhook(body.text));
      return json(201, presentWebhook(webhook, secret));
    },
  },
  {
    on: 'GET /v1/webhooks',
    name: 'List Webhooks',
    summary: 'List the webhooks of the org, newest first, without their secrets',
    query: webhookListQuery,
    strictQuery: true,
    answer: pageOf(webhookSchema),
    async handle({ caller, query }, { webhooks }) {
      const page = await webhooks.list(caller, parseWebhookListQuery(query, 'wh_'));
      const items = page.webhooks.map((webhook) => presentWebhook(webhook));
      return json(200, listBody(items, page.hasMore));
    },
  },
  {
    on: 'GET /v1/webhooks/:webhook_id',
    name: 'Get Webhook',
    summary: 'Get a webhook, without its secret',
    answer: webhookSchema,
    handle: async ({ caller, param }, { webhooks }) =>
      json(200, presentWebhook(await webhooks.get(caller, param))),
  },
  {
    on: 'PATCH /v1/webhooks/:webhook_id',
    name: 'Update Webhook',
    summary: 'Change the URL, name or events of a webhook, or disable or enable it',
    body: updateWebhookSchema,
    maxBytes: smallBody,
    answer: webhookSchema,
    handle: async ({ caller, param, body }, { webhooks }) =>
      json(200, presentWebhook(await webhooks.update(caller, param, parseUpdateWebhook(body.text)))),
  },
  {
    on: 'DELETE /v1/webhooks/:webhook_id',
    name: 'Delete Webhook',
    summary: 'Delete a webhook and its deliveries',
    answer: deletedWebhookSchema,
    async handle({ caller, param }, { webhooks }) {
      await webhooks.remove(caller, param);
      return json(200, { id: param, object: 'webhook_endpoint.deleted', deleted: true });
    },
  },
  {
    on: 'POST /v1/webhooks/:webhook_id/rotate',
    name: 'Rotate Webhook',
    summary: 'Create a new signing secret, shown only once. The old one keeps signing, too, for 24 hours',
    answer: newWebhookSchema,
    async handle({ caller, param }, { webhooks }) {
      const { webhook, secret } = await webhooks.rotate(caller, param);
      return json(200, presentWebhook(webhook, secret));
    },
  },
  {
    on: 'POST /v1/webhooks/:webhook_id/test',
    name: 'Test Webhook',
    summary: 'Send a webhook.test event once and return the result',
    answer: deliverySchema,
    handle: async ({ caller, param }, { webhooks }) =>
      json(200, presentDelivery(await webhooks.test(caller, param))),
  },
  {
    on: 'GET /v1/webhooks/:webhook_id/deliveries',
    name: 'List Webhook Deliveries',
    summary: 'List the deliveries of the last 30 days, newest first',
    query: webhookListQuery,
    strictQuery: true,
    answer: pageOf(deliverySchema),
    async handle({ caller, param, query }, { webhooks }) {
      const page = await webhooks.deliveries(caller, param, parseWebhookListQuery(query, 'dlv_'));
      return json(200, listBody(page.deliveries.map(presentDelivery), page.hasMore));
    },
  },
  {
    on: 'POST /v1/webhooks/deliveries/:delivery_id/replay',
    name: 'Replay Webhook Delivery',
    summary: 'Send the event of a delivery again, in a new delivery',
    status: 201,
    answer: deliverySchema,
    handle: async ({ caller, param }, { webhooks }) =>
      json(201, presentDelivery(await webhooks.replay(caller, param))),
  },
]);

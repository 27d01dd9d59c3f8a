import { createWebhookSchema, parseCreateWebhook, presentWebhook } from '../../../wire/webhooks/webhook.ts';
import { json } from '../../answer.ts';
import { newWebhookSchema } from '../../openapi/answer-schemas.ts';
import { type Route, smallBody } from '../../route.ts';

/** `POST /v1/webhooks`. The secret is in this answer and nowhere else. */
export const createWebhook: Route = {
  method: 'POST',
  path: '/v1/webhooks',
  access: 'batches',
  body: smallBody,
  docs: {
    name: 'Create Webhook',
    summary: 'Have an endpoint told of events; its signing secret is shown once',
    tag: 'Webhooks',
    body: createWebhookSchema,
    answer: { status: 201, type: 'application/json', schema: newWebhookSchema },
  },
  async handle({ caller, body }, { webhooks }) {
    const { webhook, secret } = await webhooks.create(caller, parseCreateWebhook(body.text));
    return json(201, presentWebhook(webhook, secret));
  },
};

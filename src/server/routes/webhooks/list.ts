import { listBody } from '../../../wire/list.ts';
import { parseWebhookListQuery } from '../../../wire/webhooks/lists.ts';
import { presentWebhook } from '../../../wire/webhooks/webhook.ts';
import { json } from '../../answer.ts';
import { pageOf, webhookSchema } from '../../openapi/answer-schemas.ts';
import { webhookListQuery } from '../../openapi/query-schemas.ts';
import type { Route } from '../../route.ts';

/** `GET /v1/webhooks`, newest first. */
export const listWebhooks: Route = {
  method: 'GET',
  path: '/v1/webhooks',
  access: 'batches',
  docs: {
    name: 'List Webhooks',
    summary: 'The webhooks of the org, newest first, without their secrets',
    tag: 'Webhooks',
    query: webhookListQuery,
    answer: { status: 200, type: 'application/json', schema: pageOf(webhookSchema) },
  },
  async handle({ caller, query }, { webhooks }) {
    const page = await webhooks.list(caller, parseWebhookListQuery(query, 'wh_'));
    const items = page.webhooks.map((webhook) => presentWebhook(webhook));
    return json(200, listBody(items, page.hasMore));
  },
};

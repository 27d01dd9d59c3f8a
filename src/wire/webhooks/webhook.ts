import { omitNullish } from '../../base/fields.ts';
import { isId } from '../../base/ids.ts';
import { pageParams, type Query } from '../shared/query-params.ts';
import { unixSeconds } from '../../base/clock.ts';
import { nullable } from '../shared/instant.ts';
import {
  type Delivery,
  type NewWebhook,
  type WebhookChanges,
  type EventType,
  type Webhook,
  eventTypes,
  toEventPayload,
} from '../../core/webhook.ts';
import * as t from '../schema/schema.ts';
import { parseBody, validator } from '../schema/validate.ts';

const name = t.stringOrNull(t.titleRule);
const types = t.orNull(
  t.array(t.oneOf(eventTypes), {
    minItems: 1,
    maxItems: eventTypes.length,
    uniqueItems: true,
    description: 'All if absent.',
  }),
);
const url = { minLength: 1, maxLength: 2048, ...t.nameRule };

/** Page size of lists of webhooks and of deliveries. */
export const webhookListLimits = { max: 100, default: 20 } as const;

/** @throws ApiError `validation_error` */
export const parseWebhookListQuery = (query: Query, prefix: 'wh_' | 'dlv_') =>
  pageParams(query, webhookListLimits, (id) => isId(prefix, id));

/** Body of `POST /v1/webhooks`, with OpenAI's field names. */
export const createWebhookSchema = t.object(
  { url: t.string(url), 'name?': name, 'event_types?': types },
  { additionalProperties: false, title: 'CreateWebhook' },
);

/** Body of `PATCH /v1/webhooks/{id}`: absent and null fields stay unchanged. */
export const updateWebhookSchema = t.object(
  {
    'url?': t.stringOrNull(url),
    'name?': name,
    'event_types?': types,
    'enabled?': t.booleanOrNull({ description: 'False pauses deliveries.' }),
  },
  { additionalProperties: false, title: 'UpdateWebhook' },
);

interface Body {
  url?: string | null;
  name?: string | null;
  event_types?: EventType[] | null;
  enabled?: boolean | null;
}

const checkNew = validator(createWebhookSchema);
const checkChanges = validator(updateWebhookSchema);

/** @throws ApiError `validation_error` */
export function parseCreateWebhook(text: string): NewWebhook {
  const body = parseBody<Body>(text, checkNew).value;
  return { name: body.name ?? '', url: body.url!, eventTypes: body.event_types ?? [...eventTypes] };
}

/** @throws ApiError `validation_error` */
export function parseUpdateWebhook(text: string): WebhookChanges {
  const body = parseBody<Body>(text, checkChanges).value;
  return omitNullish({ name: body.name, url: body.url, eventTypes: body.event_types, enabled: body.enabled });
}

/** @param secret key that signs deliveries, returned only on creation */
export function presentWebhook(webhook: Webhook, secret?: string) {
  const { id, disabledAt } = webhook;
  return {
    id,
    object: 'webhook_endpoint',
    name: webhook.name,
    url: webhook.url,
    event_types: webhook.eventTypes,
    enabled: disabledAt === null,
    disabled_at: disabledAt === null ? null : unixSeconds(disabledAt),
    disabled_reason: webhook.disabledReason,
    created_at: unixSeconds(webhook.createdAt),
    ...(secret !== undefined && { signing_secret: secret }),
  };
}

const secondsOrNull = nullable(unixSeconds);

/** Delivery resource. Times are Unix seconds, as in the event. */
export function presentDelivery(delivery: Delivery) {
  return {
    id: delivery.id,
    object: 'webhook_delivery',
    webhook_id: delivery.webhookId,
    event: toEventPayload(delivery.event),
    status: delivery.status,
    attempts: delivery.attempts,
    created_at: unixSeconds(delivery.createdAt),
    next_attempt_at: secondsOrNull(delivery.nextAttemptAt),
    last_attempt_at: secondsOrNull(delivery.lastAttemptAt),
    last_status_code: delivery.lastStatus,
    last_error: delivery.lastError,
  };
}

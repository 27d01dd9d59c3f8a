import { unixSeconds } from '../../base/clock.ts';
import { type EventType, type Webhook, eventTypes } from '../../core/webhook.ts';
import { Type } from '../json-schema.ts';
import { parseJson } from '../json/parse.ts';
import { booleanOrNull, nullable, oneOf, string, stringOrNull } from '../schema.ts';
import { faultsError, validator } from '../validate.ts';

const name = Type.Optional(stringOrNull({ maxLength: 200 }));
const types = nullable('array', {
  items: oneOf(eventTypes),
  minItems: 1,
  maxItems: eventTypes.length,
  uniqueItems: true,
  description: 'All when absent.',
});
const url = { minLength: 1, maxLength: 2048 };

/** `POST /v1/webhooks`, in the words of the official service. */
export const createWebhookSchema = Type.Object(
  { url: string(url), name, event_types: Type.Optional(types) },
  { additionalProperties: false, title: 'CreateWebhook' },
);

/** `PATCH /v1/webhooks/{id}`: what is absent or null stays as it is. */
export const updateWebhookSchema = Type.Object(
  {
    url: Type.Optional(stringOrNull(url)),
    name,
    event_types: Type.Optional(types),
    enabled: Type.Optional(booleanOrNull({ description: 'Whether it is told of events.' })),
  },
  { additionalProperties: false, title: 'UpdateWebhook' },
);

interface Body {
  url?: string | null;
  name?: string | null;
  event_types?: EventType[] | null;
  enabled?: boolean | null;
}

const checks = { create: validator(createWebhookSchema), update: validator(updateWebhookSchema) };

function read(text: string, as: keyof typeof checks): Body {
  const { value } = parseJson(text, { what: 'The request body' });
  const faults = checks[as](value);
  if (faults.length > 0) throw faultsError(faults);
  return value as Body;
}

/** @throws ApiError `validation_error` */
export function parseCreateWebhook(text: string): { name: string; url: string; eventTypes: EventType[] } {
  const body = read(text, 'create');
  return { name: body.name ?? '', url: body.url!, eventTypes: body.event_types ?? [...eventTypes] };
}

export interface WebhookChanges {
  name?: string;
  url?: string;
  eventTypes?: EventType[];
  enabled?: boolean;
}

/** @throws ApiError `validation_error` */
export function parseUpdateWebhook(text: string): WebhookChanges {
  const body = read(text, 'update');
  return {
    ...(typeof body.name === 'string' && { name: body.name }),
    ...(typeof body.url === 'string' && { url: body.url }),
    ...(body.event_types && { eventTypes: body.event_types }),
    ...(typeof body.enabled === 'boolean' && { enabled: body.enabled }),
  };
}

/** @param secret what deliveries are signed with, given once when it was made */
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

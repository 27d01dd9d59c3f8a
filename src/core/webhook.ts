import { unixSeconds } from '../base/clock.ts';

/** Events that webhooks can subscribe to. */
export const eventTypes = [
  'batch.completed',
  'batch.failed',
  'batch.expired',
  'batch.cancelled',
  'batch.at_risk',
  'budget.reached',
  'response.completed',
  'response.incomplete',
  'response.failed',
  'response.cancelled',
] as const;
export type EventType = (typeof eventTypes)[number];

/** Event of a test delivery; not subscribable. */
export const testEventType = 'webhook.test';

/** Webhook endpoint of an org, without its secrets. */
export interface Webhook {
  id: string;
  orgId: string;
  name: string;
  url: string;
  eventTypes: EventType[];
  createdAt: number;
  /** Instant from which nothing is sent; null while enabled. */
  disabledAt: number | null;
  disabledReason: string | null;
}

export interface NewWebhook {
  name: string;
  url: string;
  eventTypes: EventType[];
}

export interface WebhookChanges extends Partial<NewWebhook> {
  enabled?: boolean;
}

/** Event. `id` is the `webhook-id` of all its deliveries. */
export interface WebhookEvent {
  id: string;
  type: EventType | typeof testEventType;
  at: number;
  resourceId: string;
}

/** Payload of an event, in OpenAI's form: it names the resource only, so that reading the details takes a key. */
export function toEventPayload({ id, type, at, resourceId }: WebhookEvent) {
  return { id, object: 'event', type, created_at: unixSeconds(at), data: { id: resourceId } };
}

export const deliveryStatuses = ['pending', 'delivered', 'failed'] as const;
export type DeliveryStatus = (typeof deliveryStatuses)[number];

/** Delivery of one event to one webhook. Instants are epoch milliseconds. */
export interface Delivery {
  id: string;
  webhookId: string;
  event: WebhookEvent;
  createdAt: number;
  status: DeliveryStatus;
  /** Number of attempts, including one under way. The `last` fields describe the latest attempt that ended. */
  attempts: number;
  /** Null if no attempt follows, and during an attempt. */
  nextAttemptAt: number | null;
  lastAttemptAt: number | null;
  /** HTTP status of the answer; null without one. */
  lastStatus: number | null;
  lastError: string | null;
}

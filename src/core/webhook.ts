import { unixSeconds } from '../base/clock.ts';

/** What webhooks are told of (api.md, section 7). */
export const eventTypes = [
  'batch.completed',
  'batch.failed',
  'batch.expired',
  'batch.cancelled',
  'batch.at_risk',
] as const;
export type EventType = (typeof eventTypes)[number];

/** What a test sends; nobody subscribes to it. */
export const testEventType = 'webhook.test';

/** An endpoint of an org that is told of events. Its secrets are never read together with it. */
export interface Webhook {
  id: string;
  orgId: string;
  name: string;
  url: string;
  eventTypes: EventType[];
  createdAt: number;
  /** Since when it is told nothing, or null. */
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

/** Something that happened. `id` is the `webhook-id` of whatever tells of it, however often. */
export interface WebhookEvent {
  id: string;
  type: EventType | typeof testEventType;
  at: number;
  /** What it happened to. */
  resourceId: string;
}

/**
 * An event as it is told, in the form of the official service: no more than whose news there are, so that the news are
 * asked for with a key.
 */
export function toEventPayload({ id, type, at, resourceId }: WebhookEvent) {
  return { id, object: 'event', type, created_at: unixSeconds(at), data: { id: resourceId } };
}

export const deliveryStatuses = ['pending', 'delivered', 'failed'] as const;
export type DeliveryStatus = (typeof deliveryStatuses)[number];

/** One event on its way to one webhook. Instants are epoch milliseconds. */
export interface Delivery {
  id: string;
  webhookId: string;
  event: WebhookEvent;
  createdAt: number;
  status: DeliveryStatus;
  /** Those that began; it is the last one's that the `last` fields tell of, once it has ended. */
  attempts: number;
  /** Null when there is none to come, and while one is on its way. */
  nextAttemptAt: number | null;
  lastAttemptAt: number | null;
  /** The HTTP status of the answer, or null when none came. */
  lastStatus: number | null;
  lastError: string | null;
}

import type { Delivery, DeliveryStatus, Webhook, WebhookEvent } from '../../core/webhook.ts';

/** A delivery that is leased to whoever claimed it, and what it takes to send it. */
export interface ClaimedDelivery extends Delivery {
  orgId: string;
  url: string;
  /** The newest first; an older one as long as it holds. */
  secrets: string[];
}

/** How an attempt ended. */
export interface AttemptOutcome {
  status: DeliveryStatus;
  /** The HTTP status of the answer, or null when none came. */
  answered: number | null;
  error: string | null;
  /** When `pending`, how long until the next one. */
  retryInMs?: number;
  /** Why the webhook is told nothing from now on. */
  disable?: string;
}

export interface PageQuery {
  /** Starts behind this id, whether or not it still exists. */
  after?: string;
  limit: number;
}

/**
 * Webhooks and what they are told. An event is written for every webhook that is there and wants it, in the transaction
 * in which it happens. Leases and times of attempts are in the database's time.
 */
export interface WebhookStore {
  /** False when the org has `most` already. */
  insert(webhook: Webhook, secret: string, most: number): Promise<boolean>;
  get(orgId: string, id: string): Promise<Webhook | undefined>;
  /** Newest first. */
  list(orgId: string, query: PageQuery): Promise<Webhook[]>;
  /** Whoever is disabled gives up what is still to be sent. Returns the webhook as it is then. */
  update(
    orgId: string,
    id: string,
    changes: Partial<Pick<Webhook, 'name' | 'url' | 'eventTypes' | 'disabledAt' | 'disabledReason'>>,
  ): Promise<Webhook | undefined>;
  /** The secret that was there holds until `oldUntil`; one that was older holds no more. */
  rotate(orgId: string, id: string, secret: string, oldUntil: number): Promise<Webhook | undefined>;
  /** With its deliveries. False when there is no such webhook of the org. */
  remove(orgId: string, id: string): Promise<boolean>;
  /** Of one webhook, newest first. */
  deliveries(orgId: string, webhookId: string, query: PageQuery): Promise<Delivery[]>;
  /** Makes a new delivery of the same event, due at once. `now` is when it was made. */
  replay(
    orgId: string,
    id: string,
    replay: { id: string; now: number },
  ): Promise<{ outcome: 'missing' } | { outcome: 'disabled' } | { outcome: 'added'; delivery: Delivery }>;
  /** Makes a delivery that is claimed already, also for a disabled webhook. */
  addClaimed(
    worker: string,
    orgId: string,
    webhookId: string,
    delivery: { id: string; event: WebhookEvent },
    leaseMs: number,
  ): Promise<ClaimedDelivery | undefined>;
  /**
   * Leases up to `limit` deliveries that are due, each one's attempt counted; at most `each` of one webhook, none of those
   * in `busy`, and of all webhooks the first before any second.
   */
  claim(
    worker: string,
    options: { leaseMs: number; limit: number; each: number; busy: string[] },
  ): Promise<ClaimedDelivery[]>;
  /** Writes down how an attempt ended. False when the delivery is not the worker's any more, or gone. */
  finish(
    worker: string,
    delivery: Pick<Delivery, 'id' | 'webhookId' | 'attempts'>,
    outcome: AttemptOutcome,
  ): Promise<boolean>;
  /** Makes what the worker holds due at once, or what anybody holds where it is null. Returns how many. */
  release(worker: string | null): Promise<number>;
  /** Removes up to `limit` deliveries made before that instant. Returns how many. */
  removeDeliveries(before: number, limit: number): Promise<number>;
}

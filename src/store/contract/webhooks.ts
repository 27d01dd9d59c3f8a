import type { Delivery, DeliveryStatus, Webhook, WebhookEvent } from '../../core/webhook.ts';

/** Leased delivery, with the address and secrets for sending it. */
export interface ClaimedDelivery extends Delivery {
  orgId: string;
  url: string;
  /** Newest first; the previous one while it is valid. */
  secrets: string[];
}

/** Signing secrets of a webhook, as they are stored: in clear or sealed. */
export interface StoredSecret {
  id: string;
  secret: string;
  /** Previous secret, in use until `oldSecretUntil`. */
  oldSecret: string | null;
  oldSecretUntil: number | null;
}

export interface AttemptOutcome {
  status: DeliveryStatus;
  /** HTTP status of the answer; null without one. */
  answered: number | null;
  error: string | null;
  /** Delay of the next attempt, for `pending`. */
  retryInMs?: number;
  disable?: string;
}

export interface PageQuery {
  /** Id after which the page begins; it need not exist. */
  after?: string;
  limit: number;
}

/**
 * Webhooks and their deliveries. The transaction that causes an event also writes its deliveries. Leases and attempts use the
 * database's time.
 */
export interface WebhookStore {
  /** False if the org has `max` webhooks. */
  insert(webhook: Webhook, secret: string, max: number): Promise<boolean>;
  get(orgId: string, id: string): Promise<Webhook | undefined>;
  /** Newest first. */
  list(orgId: string, query: PageQuery): Promise<Webhook[]>;
  /** Returns the changed webhook. Disabling fails its pending deliveries. */
  update(
    orgId: string,
    id: string,
    changes: Partial<Pick<Webhook, 'name' | 'url' | 'eventTypes' | 'disabledAt' | 'disabledReason'>>,
  ): Promise<Webhook | undefined>;
  /** Replaces the secret. The previous one is valid until `oldUntil`; older ones become invalid. */
  rotate(orgId: string, id: string, secret: string, oldUntil: number): Promise<Webhook | undefined>;
  /** Secrets of all orgs' webhooks after an id, by id. */
  secrets(after: string, limit: number): Promise<StoredSecret[]>;
  /** Replaces the stored form of secrets. False if they differ from `known`. */
  replaceSecrets(
    known: Pick<StoredSecret, 'id' | 'secret' | 'oldSecret'>,
    stored: Pick<StoredSecret, 'secret' | 'oldSecret'>,
  ): Promise<boolean>;
  /** Removes a webhook with its deliveries. False if the org has no such webhook. */
  remove(orgId: string, id: string): Promise<boolean>;
  /** Deliveries of one webhook, newest first. */
  deliveries(orgId: string, webhookId: string, query: PageQuery): Promise<Delivery[]>;
  /** Adds a delivery of the same event, due immediately. */
  replay(
    orgId: string,
    id: string,
    replay: { id: string; now: number },
  ): Promise<{ outcome: 'missing' } | { outcome: 'disabled' } | { outcome: 'added'; delivery: Delivery }>;
  /** Adds a claimed delivery, even for a disabled webhook. */
  addClaimed(
    worker: string,
    orgId: string,
    webhookId: string,
    delivery: { id: string; event: WebhookEvent },
    leaseMs: number,
  ): Promise<ClaimedDelivery | undefined>;
  /**
   * Leases up to `limit` due deliveries and counts their attempts: at most `each` per webhook, none of those in `busy`, and the first
   * of every webhook before any second.
   */
  claim(
    worker: string,
    options: { leaseMs: number; limit: number; each: number; busy: string[] },
  ): Promise<ClaimedDelivery[]>;
  /** Records the outcome of an attempt. False if the lease is lost. */
  finish(
    worker: string,
    delivery: Pick<Delivery, 'id' | 'webhookId' | 'attempts'>,
    outcome: AttemptOutcome,
  ): Promise<boolean>;
  /** Releases the leases of a worker, or of all if null; the deliveries become due. Returns their number. */
  release(worker: string | null): Promise<number>;
  /** Deliveries that are not finished: their number, up to `max`, and the earliest creation among them. */
  waiting(max: number): Promise<{ count: number; oldestAt: number | null }>;
  /** Removes up to `limit` deliveries created before an instant. Returns their number. */
  removeDeliveries(before: number, limit: number): Promise<number>;
}

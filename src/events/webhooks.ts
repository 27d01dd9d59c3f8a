import type { Service } from '../base/service.ts';
import type { Caller } from '../core/org.ts';
import type { Delivery, NewWebhook, Webhook, WebhookChanges } from '../core/webhook.ts';
import type { PageQuery } from '../store/contract/webhooks.ts';
import type { StoredSecrets } from './stored-secrets.ts';

/** Webhooks of orgs and their deliveries, signed and retried for three days. A webhook of another org is `not_found`. */
export interface Webhooks extends Service {
  readonly secrets: StoredSecrets;
  /**
   * Returns the secret, which cannot be read again.
   * @throws ApiError `validation_error` for a disallowed URL, `too_many_webhooks` (409)
   */
  create(caller: Caller, input: NewWebhook): Promise<{ webhook: Webhook; secret: string }>;
  get(caller: Caller, id: string): Promise<Webhook>;
  /** Newest first. */
  list(caller: Caller, query: PageQuery): Promise<{ webhooks: Webhook[]; hasMore: boolean }>;
  /** @throws ApiError `validation_error` for a disallowed URL */
  update(caller: Caller, id: string, changes: WebhookChanges): Promise<Webhook>;
  /** Creates a new secret. The old one keeps signing, too, for 24 hours. */
  rotate(caller: Caller, id: string): Promise<{ webhook: Webhook; secret: string }>;
  remove(caller: Caller, id: string): Promise<void>;
  /** Newest first. */
  deliveries(
    caller: Caller,
    id: string,
    query: PageQuery,
  ): Promise<{ deliveries: Delivery[]; hasMore: boolean }>;
  /**
   * Sends the event again, in a new delivery.
   * @throws ApiError `webhook_disabled` (409)
   */
  replay(caller: Caller, deliveryId: string): Promise<Delivery>;
  /**
   * Sends a `webhook.test` event once, even to a disabled webhook.
   * @throws ApiError `server_overloaded` (503)
   */
  test(caller: Caller, id: string): Promise<Delivery>;
}

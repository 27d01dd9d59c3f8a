import type { Service } from '../base/service.ts';
import type { Caller } from '../core/org.ts';
import type { Delivery, NewWebhook, Webhook, WebhookChanges } from '../core/webhook.ts';
import type { PageQuery } from '../store/contract/webhooks.ts';

/**
 * Webhooks of orgs and what they were told. Another org's is `not_found`, like one that never was. While it runs, what is
 * due is sent: signed, and again over three days where it is not taken.
 */
export interface Webhooks extends Service {
  /**
   * `secret` is the only copy that is shown.
   * @throws ApiError `validation_error` for a URL that nothing is sent to, `too_many_webhooks` (409)
   */
  create(caller: Caller, input: NewWebhook): Promise<{ webhook: Webhook; secret: string }>;
  get(caller: Caller, id: string): Promise<Webhook>;
  /** Newest first. */
  list(caller: Caller, query: PageQuery): Promise<{ webhooks: Webhook[]; hasMore: boolean }>;
  /** @throws ApiError `validation_error` for a URL that nothing is sent to */
  update(caller: Caller, id: string, changes: WebhookChanges): Promise<Webhook>;
  /** With a new secret; the one before signs, too, for 24 hours. */
  rotate(caller: Caller, id: string): Promise<{ webhook: Webhook; secret: string }>;
  remove(caller: Caller, id: string): Promise<void>;
  /** Newest first. */
  deliveries(
    caller: Caller,
    id: string,
    query: PageQuery,
  ): Promise<{ deliveries: Delivery[]; hasMore: boolean }>;
  /**
   * Tells of the event once more, in a delivery of its own.
   * @throws ApiError `webhook_disabled` (409)
   */
  replay(caller: Caller, deliveryId: string): Promise<Delivery>;
  /**
   * Sends an event of the type `webhook.test` at once and once, also to a disabled webhook; resolves with how that went.
   * @throws ApiError `server_overloaded` (503)
   */
  test(caller: Caller, id: string): Promise<Delivery>;
}

import { unixSeconds } from '../../base/clock.ts';
import { nullable } from '../shared/instant.ts';
import { type Delivery, toEventPayload } from '../../core/webhook.ts';

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

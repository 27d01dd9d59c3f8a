import type { RemoteDelivery, RemoteWebhook } from '../../client/webhooks.ts';
import type { Terminal } from '../terminal/terminal.ts';

/** What `--events` takes. */
export const eventsOption = [
  '--events <type...>',
  'batch.completed, batch.failed, batch.expired, batch.cancelled, batch.at_risk (default: all)',
] as const;

/** A webhook; one with its secret says that this is shown once. */
export function showWebhook(webhook: RemoteWebhook, terminal: Terminal): void {
  terminal.record([
    ['id', webhook.id],
    ['name', webhook.name],
    ['url', webhook.url],
    ['events', webhook.event_types.join(', ')],
    ['disabled', webhook.disabled_reason],
    ['secret', webhook.signing_secret],
  ]);
  if (webhook.signing_secret !== undefined) terminal.note('Keep the secret: it is not shown again.');
}

export function showDelivery(delivery: RemoteDelivery, terminal: Terminal): void {
  terminal.record([
    ['id', delivery.id],
    ['event', `${delivery.event.type} ${delivery.event.data.id}`],
    ['webhook-id', delivery.event.id],
    ['status', delivery.status],
    ['answered', codeOf(delivery)],
    ['error', delivery.last_error],
  ]);
}

/** The status code of the receiver, where it answered. */
export function codeOf({ last_status_code: code }: RemoteDelivery): string {
  return code === null ? '' : String(code);
}

import type { Page, PageQuery } from './resources.ts';
import type { Transport } from './transport.ts';

/** A webhook as the server shows it. Times are Unix seconds. */
export interface RemoteWebhook {
  id: string;
  name: string;
  url: string;
  event_types: string[];
  enabled: boolean;
  disabled_reason: string | null;
  created_at: number;
  /** Only in the answer that made it. */
  signing_secret?: string;
}

/** What a webhook was told, and how far that is. */
export interface RemoteDelivery {
  id: string;
  webhook_id: string;
  event: { id: string; type: string; created_at: number; data: { id: string } };
  status: 'pending' | 'delivered' | 'failed';
  attempts: number;
  next_attempt_at: number | null;
  last_attempt_at: number | null;
  last_status_code: number | null;
  last_error: string | null;
}

export interface RemoteWebhookFields {
  url?: string | undefined;
  name?: string | undefined;
  event_types?: string[] | undefined;
}

export interface WebhooksClient {
  create(input: RemoteWebhookFields & { url: string }): Promise<RemoteWebhook>;
  list(query?: PageQuery): Promise<Page<RemoteWebhook>>;
  update(
    id: string,
    changes: RemoteWebhookFields & { enabled?: boolean | undefined },
  ): Promise<RemoteWebhook>;
  remove(id: string): Promise<{ id: string; deleted: boolean }>;
  rotate(id: string): Promise<RemoteWebhook>;
  test(id: string): Promise<RemoteDelivery>;
  deliveries(id: string, query?: PageQuery): Promise<Page<RemoteDelivery>>;
  replay(deliveryId: string): Promise<RemoteDelivery>;
}

export function createWebhooksClient(transport: Transport): WebhooksClient {
  const all = '/v1/webhooks';
  const at = (id: string, rest = '') => `${all}/${encodeURIComponent(id)}${rest}`;
  return {
    create: (json) => transport.json({ method: 'POST', path: all, json }),
    list: ({ limit, after, signal } = {}) => transport.json({ path: all, query: { limit, after }, signal }),
    update: (id, json) => transport.json({ method: 'PATCH', path: at(id), json }),
    remove: (id) => transport.json({ method: 'DELETE', path: at(id) }),
    rotate: (id) => transport.json({ method: 'POST', path: at(id, '/rotate') }),
    test: (id) => transport.json({ method: 'POST', path: at(id, '/test') }),
    deliveries: (id, { limit, after, signal } = {}) =>
      transport.json({ path: at(id, '/deliveries'), query: { limit, after }, signal }),
    replay: (id) =>
      transport.json({ method: 'POST', path: `${all}/deliveries/${encodeURIComponent(id)}/replay` }),
  };
}

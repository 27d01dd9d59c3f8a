import { isId } from '../../base/ids.ts';
import { type Query, cursorParam, limitParam } from '../list.ts';

export const webhookListLimits = { most: 100, otherwise: 20 } as const;

/**
 * What the lists of webhooks and of their deliveries may ask for.
 * @throws ApiError `validation_error`
 */
export function parseWebhookListQuery(
  query: Query,
  prefix: 'wh_' | 'dlv_',
): { limit: number; after?: string } {
  const after = cursorParam(query, (id) => isId(prefix, id));
  return { limit: limitParam(query, webhookListLimits), ...(after !== undefined && { after }) };
}

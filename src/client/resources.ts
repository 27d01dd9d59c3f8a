import type { presentKey } from '../wire/admin/keys.ts';
import type { presentOrg } from '../wire/admin/orgs.ts';
import type { presentBatch } from '../wire/batch/present.ts';
import type { presentFile } from '../wire/file/present.ts';
import type { presentModel } from '../wire/models/present.ts';
import type { presentDelivery, presentWebhook } from '../wire/webhooks/webhook.ts';

// What a server of this version shows. One of another version may leave out what is optional here, or add to it.

/** A page of a list (api.md, section 3). */
export interface Page<T> {
  data: T[];
  has_more: boolean;
}

export interface PageQuery {
  limit?: number | undefined;
  after?: string | undefined;
}

/** Times are Unix seconds. */
export type RemoteFile = ReturnType<typeof presentFile>;

type Shown = ReturnType<typeof presentBatch>;
type Newer = 'progress' | 'waiting' | 'at_risk' | 'usage' | 'cost' | 'error_summary';

/** A batch. Times are ISO 8601, or Unix seconds where the server is told so. */
export interface RemoteBatch extends Omit<Shown, Newer>, Nullable<Pick<Shown, Newer>> {
  metadata: Record<string, unknown> | null;
}

type Nullable<T> = { [K in keyof T]?: T[K] | null };

/** Why nobody takes requests of a model, since when (`docs/engines/README.md`). */
export type RemoteWaiting = NonNullable<RemoteBatch['waiting']>;

/** One line of `/output` or `/errors` (api.md, section 5). */
export interface ResultLine {
  id: string;
  custom_id: string;
  response: { status_code: number; request_id?: string; body: unknown } | null;
  error: { code: string; message: string; attempts?: number; retryable?: boolean } | null;
}

type Listed = ReturnType<typeof presentModel>;
export type RemoteModel = Pick<Listed, 'id'> & Partial<Listed>;
export type RemoteOrg = ReturnType<typeof presentOrg>;
export type RemoteBudget = Pick<NonNullable<RemoteOrg['budget']>, 'amount' | 'period'>;

/** An API key. `key`, the secret, is there only in the answer that made it. */
export type RemoteKey = ReturnType<typeof presentKey>;

/** `signing_secret` is there only in the answers that made it. */
export type RemoteWebhook = ReturnType<typeof presentWebhook>;
export type RemoteDelivery = ReturnType<typeof presentDelivery>;

import type { AuditEntry } from '../core/audit.ts';
import type { presentPauses, presentReplica } from '../wire/admin/controls.ts';
import type { presentProcess } from '../wire/admin/processes.ts';
import type { presentModelQueue } from '../wire/admin/queue.ts';
import type { presentRequest } from '../wire/admin/requests.ts';
import type { presentKey, presentRotation } from '../wire/admin/keys.ts';
import type { presentOrg } from '../wire/admin/orgs.ts';
import type { presentSecrets } from '../wire/admin/secrets.ts';
import type { presentAction, presentPreview } from '../wire/batch/actions.ts';
import type { presentLine } from '../wire/batch/lines.ts';
import type { presentBatch, presentEstimate } from '../wire/batch/present.ts';
import type { presentHistory } from '../wire/batch/history.ts';
import type { presentFile } from '../wire/file/present.ts';
import type { presentModel } from '../wire/models/present.ts';
import type { presentLimits } from '../wire/usage/limits.ts';
import type { presentDelivery, presentWebhook } from '../wire/webhooks/webhook.ts';

// Resources of a server of this version. Other versions may omit optional fields or add new ones.

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
type Newer =
  | 'priority'
  | 'progress'
  | 'waiting'
  | 'at_risk'
  | 'usage'
  | 'cost'
  | 'error_summary'
  | 'warnings';

/** Times are ISO 8601, or Unix seconds where the server is configured so. */
export interface RemoteBatch extends Omit<Shown, Newer>, Nullable<Pick<Shown, Newer>> {
  metadata: Record<string, unknown> | null;
}

type Nullable<T> = { [K in keyof T]?: T[K] | null };

export type RemoteAction = ReturnType<typeof presentAction>;
export type RemoteActionPreview = ReturnType<typeof presentPreview>;

type ShownEstimate = ReturnType<typeof presentEstimate>;

type NewerEstimate = 'forecast' | 'completion_window' | 'windows';

/** Estimate of a dry run. Servers before 0.2 send no forecast and no windows. */
export type RemoteEstimate = Omit<ShownEstimate, NewerEstimate> & Partial<Pick<ShownEstimate, NewerEstimate>>;

/** Price and forecast of a new batch in one of the windows. */
export type RemoteQuote = ShownEstimate['windows'][number];

type ShownLine = ReturnType<typeof presentLine>;

/** Line of a batch. Only operators see `server`, and only the org sees messages and texts. */
/** Answer to a deletion, and event of it. */
export interface RemoteDeletion {
  id: string;
  deleted: boolean;
}

export interface RemoteLine extends Omit<ShownLine, 'error'> {
  error: { code: string; message?: string } | null;
  server?: string | null;
}

export interface RemoteLineDetail extends RemoteLine {
  input?: Record<string, unknown> | null;
  output?: Record<string, unknown> | null;
  original?: (RemoteLineDetail & { batch_id: string }) | null;
}

export interface LinePage {
  data: RemoteLine[];
  has_more: boolean;
  /** Value of `after` for the next page. */
  next_after: number | null;
  seed?: number;
}
/** Progress of a batch over time. */
export type RemoteHistory = ReturnType<typeof presentHistory>;

/** Reason and start of a wait (`docs/engines/README.md`). */
export type RemoteWaiting = NonNullable<RemoteBatch['waiting']>;

/** Line of `/output` or `/errors`. */
export interface ResultLine {
  id: string;
  custom_id: string;
  response: { status_code: number; request_id?: string; body: unknown } | null;
  error: { code: string; message: string; attempts?: number; retryable?: boolean } | null;
}

type Listed = ReturnType<typeof presentModel>;
export type RemoteModel = Pick<Listed, 'id'> & Partial<Listed>;
export type RemoteOrg = ReturnType<typeof presentOrg>;
export type RemoteBudget = Pick<NonNullable<RemoteOrg['budget']>, 'amount' | 'period' | 'hard'>;

/** Limits in force of an org, and possibly of a key, with their use. */
export type RemoteLimits = ReturnType<typeof presentLimits>;
export type RemoteLimit = RemoteLimits['data'][number];

export interface AuditPage extends Page<AuditEntry> {
  /** Last entry of the log; null for an empty log. */
  head: { id: string; hash: string } | null;
}
/** Batch with its org, for operators. */
export type OperatorBatch = RemoteBatch & { org_id: string; org: string | null };
export type RemotePauses = ReturnType<typeof presentPauses>;
export type RemoteReplica = ReturnType<typeof presentReplica>;
export type RemoteProcess = ReturnType<typeof presentProcess>;
export type RemoteQueue = ReturnType<typeof presentModelQueue>;
export type RemoteRequest = ReturnType<typeof presentRequest>;

/** API key. Only the answer that creates it contains `key`, the secret. */
export type RemoteKey = ReturnType<typeof presentKey>;
/** New key, and the one that it replaces. */
export type RemoteRotation = ReturnType<typeof presentRotation>;

/** Key that seals stored secrets. */
export type RemoteSecretsKey = ReturnType<typeof presentSecrets>;

/** Only the answers that create a secret contain `signing_secret`. */
export type RemoteWebhook = ReturnType<typeof presentWebhook>;
export type RemoteDelivery = ReturnType<typeof presentDelivery>;

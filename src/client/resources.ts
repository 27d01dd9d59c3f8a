import type { BatchStatus } from '../core/batch.ts';

/** A page of a list (api.md, section 3). */
export interface Page<T> {
  object: 'list';
  data: T[];
  first_id: string | null;
  last_id: string | null;
  has_more: boolean;
}

export interface PageQuery {
  limit?: number | undefined;
  after?: string | undefined;
  signal?: AbortSignal | undefined;
}

/** A file as the server shows it (specification, section 2.4). Times are Unix seconds. */
export interface RemoteFile {
  id: string;
  object: 'file';
  bytes: number;
  created_at: number;
  expires_at?: number;
  filename: string;
  purpose: string;
  status: string;
}

/** A batch as the server shows it (specification, section 2.1; api.md, section 5). Times are ISO 8601, or Unix seconds where the server is told so. */
export interface RemoteBatch {
  id: string;
  object: 'batch';
  endpoint: string;
  status: BatchStatus;
  created_at: string | number;
  expires_at: string | number;
  completion_window: string;
  request_counts: { total: number; completed: number; failed: number };
  metadata: Record<string, unknown> | null;
  model?: string | null;
  input_file_id: string;
  output_file_id: string | null;
  error_file_id: string | null;
  retry_of?: string | null;
  errors: { data: { code: string; message: string; param: string | null; line: number | null }[] } | null;
  in_progress_at: string | number | null;
  completed_at: string | number | null;
  failed_at: string | number | null;
  expired_at: string | number | null;
  cancelling_at: string | number | null;
  cancelled_at: string | number | null;
  usage?: {
    input_tokens: number;
    input_tokens_details?: { cached_tokens: number };
    output_tokens: number;
    total_tokens: number;
  } | null;
  progress?: {
    pending: number;
    running: number;
    rate_per_minute: number | null;
    eta: string | number | null;
    /** While it is queued: batches of the org that go before it. */
    batches_ahead?: number | null;
  } | null;
  waiting?: RemoteWaiting | null;
  at_risk?: boolean;
  /** Decimal strings in `currency`; `list_amount` is the price of the same usage without a batch. */
  cost?: { currency: string; amount: string; list_amount: string } | null;
  error_summary?: { code: string; count: number; example: unknown }[] | null;
}

/** Why nobody takes requests of a model, since when (`docs/engines/README.md`). */
export interface RemoteWaiting {
  reason: string;
  message: string;
  since: string | number;
  until?: string | number | null;
}

/** One line of `/output` or `/errors` (api.md, section 5). */
export interface ResultLine {
  id: string;
  custom_id: string;
  response: { status_code: number; request_id?: string; body: unknown } | null;
  error: { code: string; message: string; attempts?: number; retryable?: boolean } | null;
}

export interface RemoteModel {
  id: string;
  object: 'model';
  created: number;
  aliases?: string[];
  serves?: string[];
  /** Only other processes of the service serve it. */
  batch_only?: boolean;
  /** Its servers; for admin keys alone. */
  replicas?: {
    name: string;
    health: string;
    slots: number;
    in_flight: number;
    waiting: RemoteWaiting | null;
  }[];
}

export interface RemoteOrg {
  id: string;
  object: 'org';
  name: string;
  created_at: string;
  /** In USD, as decimal strings. */
  budget: (RemoteBudget & { spent: string; begins_again_at: string | null }) | null;
}

export interface RemoteBudget {
  amount: string;
  period: string;
}

/** An API key. `key`, the secret, is there only in the answer that made it. */
export interface RemoteKey {
  id: string;
  object: 'api_key';
  org_id: string;
  name: string;
  prefix: string;
  scopes: string[];
  models?: string[] | null;
  created_at: string;
  expires_at?: string | null;
  revoked_at?: string | null;
  last_used_at?: string | null;
  key?: string;
}

import type { FrozenPrices } from './price.ts';

/**
 * The life of a batch (specification, section 3; api.md, section 5). Anything not drawn here is a bug.
 *
 *   validating ──► in_progress ──► completed
 *       │  │            │  │ └───► failed        a fault of the batch as a whole
 *       │  └─► failed   │  └─────► expired       at expires_at
 *       └────────┬──────┘
 *                └─► cancelling ─► cancelled
 */
export const transitions = {
  validating: ['in_progress', 'failed', 'cancelling', 'expired'],
  in_progress: ['completed', 'failed', 'cancelling', 'expired'],
  cancelling: ['cancelled'],
  completed: [],
  failed: [],
  cancelled: [],
  expired: [],
} as const satisfies Record<string, readonly string[]>;

export type BatchStatus = keyof typeof transitions;
export type FinalStatus = 'completed' | 'failed' | 'cancelled' | 'expired';

/** How batches tell their times: ISO 8601, or Unix seconds. */
export const dateForms = ['iso', 'unix'] as const;
export type DateForm = (typeof dateForms)[number];

export const batchStatuses = Object.keys(transitions) as BatchStatus[];

export function canTransition(from: BatchStatus, to: BatchStatus): boolean {
  return (transitions[from] as readonly BatchStatus[]).includes(to);
}

/** A batch in a final state never changes again. */
export function isFinal(status: BatchStatus): status is FinalStatus {
  return transitions[status].length === 0;
}

/** The endpoints a batch may target: what a line of each is, says `wire/batch/line-formats.ts`. */
export const batchEndpoints = [
  '/v1/chat/completions',
  '/v1/embeddings',
  '/v1/responses',
  '/v1/messages',
  '/v1/completions',
] as const;
export type BatchEndpoint = (typeof batchEndpoints)[number];

/** What one batch takes unless the configuration says otherwise (specification, section 8). */
export const defaultLimits = { requests: 10_000, bytes: 33_554_432, lineBytes: 8_388_608 };

/** Those that are open unless the configuration says otherwise (specification, section 4.1). */
export const defaultEndpoints: readonly BatchEndpoint[] = ['/v1/chat/completions', '/v1/embeddings'];

/** Which of a batch's two result streams a line went to. */
export type ResultStream = 'output' | 'errors';

/** A fault of the batch as a whole, as OpenAI's `errors.data` items carry it. */
export interface BatchFault {
  code: string;
  message: string;
  param: string | null;
  line: number | null;
}

/** A batch to be made. */
export interface CreateBatch {
  endpoint: BatchEndpoint;
  /** Exactly one of these two. `requests` holds each item's JSON as it came, as UTF-8 without a line break. */
  inputFileId?: string;
  requests?: readonly Uint8Array[];
  /** JSON text of the metadata object, as it came. */
  metadata?: string;
  outputExpiresAfterSeconds?: number;
}

/** A batch as the store remembers it. Instants are epoch milliseconds, `null` where the state was not reached. */
export interface Batch {
  id: string;
  orgId: string;
  keyId: string;
  endpoint: BatchEndpoint;
  status: BatchStatus;
  total: number;
  /** Lines with a 2xx result, and lines that ended as errors. Live and exact. */
  ok: number;
  err: number;
  /** Urgency: the lower, the sooner it is claimed (batch-engine.md, "From upload to chunks"). */
  due: number;
  /** The final state that was decided; set once, then the closing chunk does the rest. */
  closing: FinalStatus | null;
  /** Results recorded at or after this instant are dropped. */
  acceptUntil: number;
  inputFileId: string;
  outputFileId: string | null;
  errorFileId: string | null;
  /** The one model of all lines, or null when they differ. */
  model: string | null;
  /** The JSON text of the metadata as it came, or null. */
  metadata: string | null;
  /** Prices frozen at creation, by model id. */
  prices: Record<string, FrozenPrices>;
  priceFactor: number;
  errors: BatchFault[];
  /** Since when nothing of it is sent, and for how many milliseconds that was so before. */
  pausedAt: number | null;
  pausedMs: number;
  /** When it was first seen that it would miss its window. */
  atRiskAt: number | null;
  /** The batch whose failed lines it runs again. */
  retryOf: string | null;
  /** Lifetime of the result files in milliseconds. */
  resultTtlMs: number;
  createdAt: number;
  inProgressAt: number | null;
  expiresAt: number;
  completedAt: number | null;
  failedAt: number | null;
  expiredAt: number | null;
  cancellingAt: number | null;
  cancelledAt: number | null;
}

/** Where one request stands in the input file. */
export interface LineRef {
  /** 0-based number among the requests of the file (blank lines are not requests). */
  line: number;
  offset: number;
  length: number;
  /** CRC-32 of its bytes; absent for files stored before there were any. */
  sum?: number;
}

/** Neighbours that share a prompt prefix, claimed and run together: the lane of `batch-engine.md`. */
export interface Chunk {
  batchId: string;
  seq: number;
  model: string;
  /** The deepest prefix hash that all lines share, or '' under 1,024 bytes. */
  prefix: string;
  lines: LineRef[];
  /** Estimated tokens of all its lines. */
  est: number;
  /** How many times it was claimed; fences release and close. */
  epoch: number;
  /** How many owners died while holding it. */
  kills: number;
}

/** The model name of chunk 0, which stands for closing the batch. */
export const closeModel = '#close';

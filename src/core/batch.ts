import type { BatchWindow } from './batch-window.ts';
import type { FieldWarning } from './field-warning.ts';
import type { FrozenPrices } from './price.ts';
import type { ServiceTier } from './service-tier.ts';

/**
 * Life of a batch. A transition that is not drawn here is a bug.
 *
 *   validating ──► in_progress ──► completed
 *       │  │            │  │ └───► failed        an error of the batch as a whole
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

/** Formats of instants in batch objects: ISO 8601, or Unix seconds. */
export const dateForms = ['iso', 'unix'] as const;
export type DateForm = (typeof dateForms)[number];

export const batchStatuses = Object.keys(transitions) as BatchStatus[];

export function canTransition(from: BatchStatus, to: BatchStatus): boolean {
  return (transitions[from] as readonly BatchStatus[]).includes(to);
}

/** True for a state in which a batch never changes again. */
export function isFinal(status: BatchStatus): status is FinalStatus {
  return transitions[status].length === 0;
}

/** Epoch milliseconds of the end of a batch; null while it is not finished. */
export function endedAt({
  completedAt,
  failedAt,
  expiredAt,
  cancelledAt,
}: Pick<Batch, 'completedAt' | 'failedAt' | 'expiredAt' | 'cancelledAt'>): number | null {
  return completedAt ?? failedAt ?? expiredAt ?? cancelledAt;
}

/** Number of lines without a result. */
export function linesLeft({ total, ok, err }: Pick<Batch, 'total' | 'ok' | 'err'>): number {
  return total - ok - err;
}

/** Endpoints of batches; `wire/batch/line-formats.ts` defines their lines. */
export const batchEndpoints = [
  '/v1/chat/completions',
  '/v1/embeddings',
  '/v1/responses',
  '/v1/messages',
  '/v1/completions',
  '/v1/rerank',
  '/v1/score',
  '/v1/moderations',
] as const;
export type BatchEndpoint = (typeof batchEndpoints)[number];

/** Default limits of one batch at `/v1`. */
export const defaultLimits = { requests: 10_000, bytes: 33_554_432, lineBytes: 8_388_608 };

/** Time that a single request at the tier `flex` has: the caller waits. */
export const defaultFlexTimeoutMs = 900_000;

/** Endpoints of batches that are open at `/v1` by default. */
export const defaultEndpoints: readonly BatchEndpoint[] = ['/v1/chat/completions', '/v1/embeddings'];

/** Defaults of the compatible surfaces: the limits of OpenAI, and every endpoint. */
export const compatibleLimits = { requests: 50_000, bytes: 209_715_200, endpoints: batchEndpoints };

/** Rules for new batches and their input files, which differ by the API surface that creates them. */
export interface BatchRules {
  endpoints: readonly BatchEndpoint[];
  requests: number;
  /** Size of an input file. */
  bytes: number;
  /** Size of inline requests as JSON Lines, which are in memory as a whole. */
  inlineBytes: number;
  /** True if an endpoint may be written without `/v1`, as Azure's clients do, or behind the path of a base URL. */
  anyPrefix: boolean;
}

const endpointsByUrl = new Map<unknown, BatchEndpoint>(
  batchEndpoints.flatMap((name) => [
    [name, name],
    [name.slice('/v1'.length), name],
  ]),
);

/**
 * Endpoint of a line or a batch, which may lack `/v1` or follow the path of a client's base URL, as in
 * `/openai/v1/embeddings`; undefined for any other value.
 */
export function endpointOf(url: unknown): BatchEndpoint | undefined {
  const known = endpointsByUrl.get(url);
  if (known !== undefined || typeof url !== 'string' || !url.startsWith('/')) return known;
  return endpointsByUrl.get(url.slice(Math.max(0, url.lastIndexOf('/v1/'))));
}

/** One of the two result streams of a batch. */
export type ResultStream = 'output' | 'errors';

/** Error of a batch as a whole, in the form of OpenAI's `errors.data`. */
export interface BatchFault {
  code: string;
  message: string;
  param: string | null;
  line: number | null;
}

export interface CreateBatch {
  /** Rules of the surface that creates it; those of the configuration if absent. */
  rules?: BatchRules;
  endpoint: BatchEndpoint;
  /** Either this or `requests`: the UTF-8 of each item's JSON as received, without line breaks. */
  inputFileId?: string;
  requests?: readonly Uint8Array[];
  /** JSON text of the metadata object, as received. */
  metadata?: string;
  outputExpiresAfterSeconds?: number;
  /** 0 to 9, higher first among the batches of the org; 5 if absent. */
  priority?: number;
  /** True if unknown fields in the bodies of its requests are faults. */
  isStrict?: boolean;
  /** Window that the request names; the default one if absent. */
  window?: BatchWindow;
}

/** Stored batch. Instants are epoch milliseconds, null for states not reached. */
export interface Batch {
  id: string;
  orgId: string;
  keyId: string;
  /** First key of the family of its key (core/key-family.ts); null for that key itself. */
  keyFamily: string | null;
  endpoint: BatchEndpoint;
  status: BatchStatus;
  total: number;
  /** Lines with a 2xx result and lines with an error; always exact. */
  ok: number;
  err: number;
  /** Estimated tokens of all requests. */
  est: number;
  /** 0 to 9, higher first, within the org. */
  priority: number;
  /** Order within the org: batches with a lower value are claimed first (core/urgency.ts). */
  due: number;
  /** Decided final state; set once, then the closing chunk finishes the batch. */
  closing: FinalStatus | null;
  /** Results from this instant on are dropped. */
  acceptUntil: number;
  inputFileId: string;
  /** File name of the input; null for inline requests, and for those of a retry of these. */
  inputName: string | null;
  outputFileId: string | null;
  errorFileId: string | null;
  /** Model of all lines; null if they differ. */
  model: string | null;
  /** JSON text of the metadata, as received. */
  metadata: string | null;
  /** Value of the metadata member by which usage is grouped, or empty. */
  tag: string;
  /** Prices at creation, by model id. */
  prices: Record<string, FrozenPrices>;
  priceFactor: number;
  /** Length of its window; null in the rows of earlier versions. `expiresAt` moves with jumps of the clock. */
  windowMs: number | null;
  errors: BatchFault[];
  /** Unknown fields of its requests. */
  warnings: readonly FieldWarning[];
  /** Start of the current pause, and milliseconds of earlier pauses. */
  pausedAt: number | null;
  pausedMs: number;
  /** First detection that the batch would miss its window. */
  atRiskAt: number | null;
  /** Batch whose failed lines this one retries. */
  retryOf: string | null;
  /** Tier of a group of single requests (core/request-group.ts); null for a batch. */
  tier: ServiceTier | null;
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

/** Fields of a batch that nothing has happened to. */
const untouched = () => ({
  status: 'validating' as BatchStatus,
  ok: 0,
  err: 0,
  closing: null as FinalStatus | null,
  outputFileId: null,
  errorFileId: null,
  errors: [] as BatchFault[],
  pausedAt: null,
  pausedMs: 0,
  atRiskAt: null,
  inProgressAt: null,
  completedAt: null,
  failedAt: null,
  expiredAt: null,
  cancellingAt: null,
  cancelledAt: null,
});

/** Batch with these fields that nothing has happened to. */
export function newBatch(fields: Omit<Batch, keyof ReturnType<typeof untouched>>): Batch {
  return { ...fields, ...untouched() };
}

/** Position of one request in the input file. */
export interface LineRef {
  /** 0-based number among the requests of the file; blank lines do not count. */
  line: number;
  offset: number;
  length: number;
  /** CRC-32 of the bytes; not stored for every file. */
  sum?: number;
}

/** Lines that are claimed together, with a common prompt prefix where possible. */
export interface Chunk {
  batchId: string;
  seq: number;
  model: string;
  /** Hash of the longest common prefix; '' if it is shorter than 1,024 bytes. */
  prefix: string;
  lines: LineRef[];
  /** Estimated tokens of all lines. */
  est: number;
  /** Number of claims; fences off earlier owners. */
  epoch: number;
  /** Number of owners that died while holding the chunk. */
  kills: number;
}

/** Model name of chunk 0, whose owner closes the batch. */
export const closeModel = '#close';

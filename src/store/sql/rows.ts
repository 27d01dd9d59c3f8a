import type {
  Batch,
  BatchEndpoint,
  BatchFault,
  BatchStatus,
  Chunk,
  FinalStatus,
  LineRef,
} from '../../core/batch.ts';
import type { FilePurpose, StoredFile } from '../../core/file.ts';
import type { ApiKey, Scope } from '../../core/org.ts';
import type { FrozenPrices } from '../../core/price.ts';
import type { Value } from '../db.ts';

/** Rows as both databases return them, and the way to the values of `core/`. */

export interface KeyRow {
  id: string;
  org_id: string;
  name: string;
  prefix: string;
  scopes: string;
  models: string | null;
  created_at: number;
  expires_at: number | null;
  revoked_at: number | null;
  last_used_at: number | null;
}

export function toKey(row: KeyRow): ApiKey {
  return {
    id: row.id,
    orgId: row.org_id,
    name: row.name,
    prefix: row.prefix,
    scopes: JSON.parse(row.scopes) as Scope[],
    models: row.models === null ? null : (JSON.parse(row.models) as string[]),
    createdAt: row.created_at,
    expiresAt: row.expires_at,
    revokedAt: row.revoked_at,
    lastUsedAt: row.last_used_at,
  };
}

export interface FileRow {
  id: string;
  org_id: string;
  purpose: FilePurpose;
  filename: string;
  bytes: number;
  blob_id: string;
  sha256: string;
  requests: number | null;
  endpoint: BatchEndpoint | null;
  created_at: number;
  expires_at: number | null;
}

export function toFile(row: FileRow): StoredFile {
  return {
    id: row.id,
    orgId: row.org_id,
    purpose: row.purpose,
    filename: row.filename,
    bytes: row.bytes,
    blobId: row.blob_id,
    sha256: row.sha256,
    requests: row.requests,
    endpoint: row.endpoint,
    createdAt: row.created_at,
    expiresAt: row.expires_at,
  };
}

export interface BatchRow {
  id: string;
  org_id: string;
  key_id: string;
  endpoint: BatchEndpoint;
  status: BatchStatus;
  total: number;
  ok: number;
  err: number;
  due: number;
  closing: FinalStatus | null;
  accept_until: number;
  input_file_id: string;
  output_file_id: string | null;
  error_file_id: string | null;
  model: string | null;
  metadata: string | null;
  prices: string;
  price_factor: number;
  errors: string;
  paused_at: number | null;
  paused_ms: number;
  at_risk_at: number | null;
  retry_of: string | null;
  result_ttl_ms: number;
  created_at: number;
  in_progress_at: number | null;
  expires_at: number;
  completed_at: number | null;
  failed_at: number | null;
  expired_at: number | null;
  cancelling_at: number | null;
  cancelled_at: number | null;
}

/** Named one by one: a newer version may add a column while this one runs. */
export const batchColumns = `id, org_id, key_id, endpoint, status, total, ok, err, due, closing, accept_until, input_file_id,
  output_file_id, error_file_id, model, metadata, prices, price_factor, errors, paused_at, paused_ms, at_risk_at, retry_of, result_ttl_ms, created_at,
  in_progress_at, expires_at, completed_at, failed_at, expired_at, cancelling_at, cancelled_at`;

export function toBatch(row: BatchRow): Batch {
  return {
    id: row.id,
    orgId: row.org_id,
    keyId: row.key_id,
    endpoint: row.endpoint,
    status: row.status,
    total: row.total,
    ok: row.ok,
    err: row.err,
    due: row.due,
    closing: row.closing,
    acceptUntil: row.accept_until,
    inputFileId: row.input_file_id,
    outputFileId: row.output_file_id,
    errorFileId: row.error_file_id,
    model: row.model,
    metadata: row.metadata,
    prices: JSON.parse(row.prices) as Record<string, FrozenPrices>,
    priceFactor: row.price_factor,
    errors: JSON.parse(row.errors) as BatchFault[],
    pausedAt: row.paused_at,
    pausedMs: row.paused_ms,
    atRiskAt: row.at_risk_at,
    retryOf: row.retry_of,
    resultTtlMs: row.result_ttl_ms,
    createdAt: row.created_at,
    inProgressAt: row.in_progress_at,
    expiresAt: row.expires_at,
    completedAt: row.completed_at,
    failedAt: row.failed_at,
    expiredAt: row.expired_at,
    cancellingAt: row.cancelling_at,
    cancelledAt: row.cancelled_at,
  };
}

/** A batch as column name -> value, for the INSERT. */
export function fromBatch(batch: Batch): Record<keyof BatchRow, Value> {
  return {
    id: batch.id,
    org_id: batch.orgId,
    key_id: batch.keyId,
    endpoint: batch.endpoint,
    status: batch.status,
    total: batch.total,
    ok: batch.ok,
    err: batch.err,
    due: batch.due,
    closing: batch.closing,
    accept_until: batch.acceptUntil,
    input_file_id: batch.inputFileId,
    output_file_id: batch.outputFileId,
    error_file_id: batch.errorFileId,
    model: batch.model,
    metadata: batch.metadata,
    prices: JSON.stringify(batch.prices),
    price_factor: batch.priceFactor,
    errors: JSON.stringify(batch.errors),
    paused_at: batch.pausedAt,
    paused_ms: batch.pausedMs,
    at_risk_at: batch.atRiskAt,
    retry_of: batch.retryOf,
    result_ttl_ms: batch.resultTtlMs,
    created_at: batch.createdAt,
    in_progress_at: batch.inProgressAt,
    expires_at: batch.expiresAt,
    completed_at: batch.completedAt,
    failed_at: batch.failedAt,
    expired_at: batch.expiredAt,
    cancelling_at: batch.cancellingAt,
    cancelled_at: batch.cancelledAt,
  };
}

export interface ChunkRow {
  batch_id: string;
  seq: number;
  model: string;
  prefix: string;
  lines: string;
  est: number;
  epoch: number;
  kills: number;
}

/** A chunk's lines as stored: `[[line, offset, length, sum], ...]`, the sum where there is one, in the order in which they are to be sent. */
export function packLines(lines: readonly LineRef[]): string {
  return JSON.stringify(
    lines.map(({ line, offset, length, sum }) =>
      [line, offset, length, sum].slice(0, sum === undefined ? 3 : 4),
    ),
  );
}

export function unpackLines(text: string): LineRef[] {
  const packed = JSON.parse(text) as [number, number, number, number?][];
  return packed.map(([line, offset, length, sum]) =>
    sum === undefined ? { line, offset, length } : { line, offset, length, sum },
  );
}

export function toChunk(row: ChunkRow): Chunk {
  return {
    batchId: row.batch_id,
    seq: row.seq,
    model: row.model,
    prefix: row.prefix,
    lines: unpackLines(row.lines),
    est: row.est,
    epoch: row.epoch,
    kills: row.kills,
  };
}

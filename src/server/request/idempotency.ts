import { createHash } from 'node:crypto';
import type { Batches } from '../../batches/batches.ts';
import type { BatchEndpoint } from '../../core/batch.ts';
import { invalid } from '../../core/errors.ts';
import type { Incoming } from '../route.ts';

/** Token by which the store recognizes a repeated create. */
export type IdempotencyToken = NonNullable<Parameters<Batches['create']>[2]>;

const minute = 60_000;
const keyLength = 255;

/**
 * Maker of the token of a create: the client's `Idempotency-Key` or, without one, the API key and the body, which
 * recognizes the automatic retries of official SDKs. The headers are checked before the body is read.
 * @returns a function of the SHA-256 of the body, or of `formHash`
 * @throws ApiError `validation_error` for an invalid Idempotency-Key
 */
export function idempotencyTokens(
  incoming: Incoming,
  route: 'batches' | 'files' | 'message_batches' | 'retries' | 'actions' | BatchEndpoint,
): (bodyHash: string) => IdempotencyToken {
  const { headers, caller, startedAt } = incoming;
  const sent = headers['idempotency-key'];
  const key = Array.isArray(sent) ? sent.join() : sent;
  if (key !== undefined && (key.length === 0 || key.length > keyLength))
    throw invalid('Idempotency-Key', `expected 1 to ${keyLength} characters, got ${key.length}`);
  const count = Number(headers['x-stainless-retry-count'] ?? 0);
  const retry = Number.isInteger(count) && count > 0 ? count : 0;
  return (bodyHash) => ({
    token: key === undefined ? `h:${route}:${caller.keyId}:${bodyHash}` : `k:${route}:${key}`,
    bodyHash,
    startedAt,
    retry,
    ttlMs: (key === undefined ? 10 : 24 * 60) * minute,
  });
}

/** SHA-256 of the fields of a form, independent of its boundary and their order. */
export function formHash(fields: Record<string, string | undefined>): string {
  const entries = Object.entries(fields).toSorted(([a], [b]) => (a < b ? -1 : 1));
  return createHash('sha256').update(JSON.stringify(entries)).digest('hex');
}

/** Header for an answer that repeats the resource of an earlier request. */
export function replayHeaders(replayed: boolean): Record<string, string> {
  return replayed ? { 'idempotent-replayed': 'true' } : {};
}

import { createHash } from 'node:crypto';
import type { Batches } from '../batches/batches.ts';
import { invalid } from '../core/errors.ts';
import type { Incoming } from './route.ts';

/** What makes two creates the same one; the type is the store's. */
export type IdempotencyToken = NonNullable<Parameters<Batches['create']>[2]>;

const minute = 60_000;
const keyLength = 255;

/**
 * The token of a create (api.md, section 1): the client's `Idempotency-Key`, else the key and the body, by which a
 * silent repetition of an official SDK is recognised. The headers are checked at once, before a body is taken in.
 * @returns what takes the SHA-256 of the body, or of what a multipart body says
 * @throws ApiError `validation_error` for an unfit Idempotency-Key
 */
export function idempotencyTokens(
  incoming: Incoming,
  route: 'batches' | 'files' | 'message_batches' | 'retries',
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
    ttlMs: key === undefined ? 10 * minute : 24 * 60 * minute,
  });
}

/** The hash of a form, independent of its boundary and the order of its fields. */
export function formHash(fields: Record<string, string | undefined>): string {
  const entries = Object.entries(fields).toSorted(([a], [b]) => (a < b ? -1 : 1));
  return createHash('sha256').update(JSON.stringify(entries)).digest('hex');
}

/** Tells a client that it got the resource of an earlier request. */
export function replayHeaders(replayed: boolean): Record<string, string> {
  return replayed ? { 'idempotent-replayed': 'true' } : {};
}

/**
 * Identity of a create request. `token` is `k:<route>:<Idempotency-Key>` (kept 24 h; another `bodyHash` is a mismatch) or
 * `h:<route>:<key id>:<body hash>` (kept 10 min; two requests are the same only if the later one has `retry` >= 1).
 */
export interface IdempotencyToken {
  token: string;
  bodyHash: string;
  startedAt: number;
  /** `x-stainless-retry-count`, 0 if absent. */
  retry: number;
  ttlMs: number;
}

export type CreateOutcome =
  | { outcome: 'created' }
  | { outcome: 'replayed'; id: string }
  | { outcome: 'mismatch' };

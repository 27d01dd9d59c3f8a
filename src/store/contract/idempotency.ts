/**
 * What makes two creates the same one (api.md, section 1). `token` names the attempt: `k:<route>:<Idempotency-Key>`
 * (kept 24 h; another `bodyHash` is a mismatch) or `h:<route>:<key id>:<body hash>` (kept 10 minutes; two are twins only if
 * the later-started one has `retry` >= 1).
 */
export interface IdempotencyToken {
  token: string;
  bodyHash: string;
  startedAt: number;
  /** `x-stainless-retry-count`, 0 when absent. */
  retry: number;
  ttlMs: number;
}

export type CreateOutcome =
  | { outcome: 'created' }
  | { outcome: 'replayed'; id: string }
  | { outcome: 'mismatch' };

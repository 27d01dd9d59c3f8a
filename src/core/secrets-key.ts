/**
 * States of a stored secret: sealed with the key that seals, with another configured key, with a key that is not configured, or
 * in clear.
 */
export const sealStates = ['current', 'accepted', 'clear', 'unknown'] as const;
export type SealState = (typeof sealStates)[number];

/** Number of stored secrets under one key. */
export interface SecretsUnderKey {
  /** Null for secrets in clear. */
  keyId: string | null;
  state: SealState;
  secrets: number;
}

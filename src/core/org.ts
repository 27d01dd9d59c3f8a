export interface Org {
  id: string;
  name: string;
  createdAt: number;
}

export const scopes = ['inference', 'batches', 'files', 'usage', 'admin'] as const;
export type KeyScope = (typeof scopes)[number];

/** Scopes of a new key by default: all but `admin`. */
export const defaultScopes: readonly KeyScope[] = scopes.filter((scope) => scope !== 'admin');

/** API key without its secret, which is never stored. Instants are epoch milliseconds. */
export interface ApiKey {
  id: string;
  orgId: string;
  name: string;
  /** First characters and last four, for display. */
  prefix: string;
  scopes: KeyScope[];
  /** Allowed models; null for all. */
  models: string[] | null;
  createdAt: number;
  expiresAt: number | null;
  revokedAt: number | null;
  lastUsedAt: number | null;
}

export interface NewKey {
  orgId: string;
  name?: string;
  scopes?: KeyScope[];
  /** Ids of allowed models; all if absent. */
  models?: string[];
  expiresAt?: number;
}

/** Result of authentication, passed to every operation. */
export interface Caller {
  orgId: string;
  keyId: string;
  scopes: readonly KeyScope[];
  models: readonly string[] | null;
}

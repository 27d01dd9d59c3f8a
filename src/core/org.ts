export interface Org {
  id: string;
  name: string;
  createdAt: number;
}

export const scopes = ['inference', 'batches', 'files', 'usage', 'admin'] as const;
export type KeyScope = (typeof scopes)[number];

/** What a key gets when none is named: everything but `admin` (api.md, section 8). */
export const defaultScopes: readonly KeyScope[] = scopes.filter((scope) => scope !== 'admin');

/** An API key as it may be shown: the secret itself is never kept. Instants are epoch milliseconds. */
export interface ApiKey {
  id: string;
  orgId: string;
  name: string;
  /** The first characters and the last four, to recognise it by. */
  prefix: string;
  scopes: KeyScope[];
  /** The models it may use, or null for all. */
  models: string[] | null;
  createdAt: number;
  expiresAt: number | null;
  revokedAt: number | null;
  lastUsedAt: number | null;
}

/** A key to be made. */
export interface NewKey {
  orgId: string;
  name?: string;
  scopes?: KeyScope[];
  /** Model ids it may use; absent for all. */
  models?: string[];
  expiresAt?: number;
}

/** Who is asking: the outcome of authentication, passed to every operation. */
export interface Caller {
  orgId: string;
  keyId: string;
  scopes: readonly KeyScope[];
  models: readonly string[] | null;
}

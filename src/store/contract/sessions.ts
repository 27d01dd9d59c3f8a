/** Session of a browser in the console. It has the rights of its key, and ends with it. */
export interface ConsoleSession {
  /** SHA-256 of the token, lower-case hex. The token itself is only in the cookie. */
  hash: string;
  /** SHA-256 of the key, as in the keys. */
  keyHash: string;
  /** 1 if the environment or the configuration sets the key, which then must still be set. */
  keyIsConfigured: 0 | 1;
  /** `Host` under which it began, the only one where it is valid. */
  host: string;
  createdAt: number;
  expiresAt: number;
}

export interface SessionStore {
  /** Adds a session, and removes up to 100 that have expired by its `createdAt`. */
  insert(session: ConsoleSession): Promise<void>;
  /** Existing sessions by their hash, expired ones included. */
  findByHashes(hashes: readonly string[]): Promise<Map<string, ConsoleSession>>;
  remove(hash: string): Promise<void>;
}

import type { Clock } from '../base/clock.ts';
import type { ApiKey, KeyOrg } from '../core/org.ts';

/** Key with what authentication needs of its org. */
export type KnownKey = ApiKey & { org: KeyOrg };

/** Longest time for which a process still accepts a revoked key or an ended session, in milliseconds. */
const lifeMs = 1000;
const capacity = 10_000;

/**
 * Caches keys (or sessions) by their hash for a second, counted from the start of the query. Unknown ones are not cached, so that
 * a new key works at once and invalid ones cannot fill the cache.
 */
export function createKeyCache<T = KnownKey>(clock: Clock, load: (hash: string) => Promise<T | undefined>) {
  const entries = new Map<string, { at: number; key: Promise<T | undefined> }>();

  const forget = (hash: string, entry: object) => {
    if (entries.get(hash) === entry) entries.delete(hash);
  };

  return {
    /** Returns the key with that hash after at most one query per second and at a time. */
    find(hash: string) {
      const now = clock.monotonic();
      const known = entries.get(hash);
      if (known && now - known.at < lifeMs) return known.key;
      if (entries.size >= capacity) entries.clear();
      const entry = { at: now, key: load(hash) };
      entries.set(hash, entry);
      entry.key.then(
        (key) => key ?? forget(hash, entry),
        () => forget(hash, entry),
      );
      return entry.key;
    },
    clear: () => entries.clear(),
  };
}

export type KeyCache = ReturnType<typeof createKeyCache<KnownKey>>;

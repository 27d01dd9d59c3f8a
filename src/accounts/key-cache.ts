import type { Clock } from '../base/clock.ts';
import type { ApiKey } from '../core/org.ts';

/** A revoked key stops working within this time, in every process. */
const lifeMs = 1000;
const capacity = 10_000;

/**
 * Remembers known keys for a second, counted from the moment the question was sent. Unknown ones are asked again each
 * time: a key works as soon as it was made, and strangers cannot fill the memory.
 */
export function createKeyCache(clock: Clock, load: (hash: string) => Promise<ApiKey | undefined>) {
  const entries = new Map<string, { at: number; key: Promise<ApiKey | undefined> }>();

  const forget = (hash: string, entry: object) => {
    if (entries.get(hash) === entry) entries.delete(hash);
  };

  return {
    /** The key with that hash, asked of the database at most once a second and once at a time. */
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

export type KeyCache = ReturnType<typeof createKeyCache>;

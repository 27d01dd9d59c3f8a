import { hash } from 'node:crypto';
import type { Clock } from '../base/clock.ts';
import { coalesceReads } from '../base/coalesce-reads.ts';
import type { Random } from '../base/random.ts';
import { ApiError } from '../core/errors.ts';
import type { SessionStore } from '../store/contract/sessions.ts';
import type { Sessions } from './accounts.ts';
import type { KeyCheck } from './authenticate.ts';
import { createKeyCache } from './key-cache.ts';

/** Lifetime of a session, in milliseconds. */
export const sessionMs = 12 * 3_600_000;

interface SessionsDeps {
  store: SessionStore;
  clock: Clock;
  random: Random;
  keys: Pick<KeyCheck, 'byToken' | 'byHash'>;
}

/** 256 random bits in base64url. */
const shape = /^[\w-]{43}$/;

export function createSessions({ store, clock, random, keys }: SessionsDeps): Sessions {
  // In groups, so that many guesses cost few queries.
  const load = coalesceReads((hashes: string[]) => store.findByHashes(hashes), {
    maxGroup: 500,
    maxConcurrent: 4,
  });
  const cache = createKeyCache(clock, load);

  return {
    async begin(key, host) {
      const { caller, keyHash, isConfigured } = await keys.byToken(key);
      const token = Buffer.from(random.bytes(32)).toString('base64url');
      const now = clock.now();
      const expiresAt = now + sessionMs;
      await store.insert({
        hash: hashToken(token),
        keyHash,
        keyIsConfigured: isConfigured ? 1 : 0,
        host,
        createdAt: now,
        expiresAt,
      });
      return { token, caller, expiresAt };
    },
    async find(token, host) {
      const session = token && shape.test(token) ? await cache.find(hashToken(token)) : undefined;
      if (!session || session.host !== host || session.expiresAt <= clock.now()) throw ended();
      const { keyHash, keyIsConfigured, expiresAt } = session;
      const caller = await keys.byHash(keyHash, keyIsConfigured === 1).catch((error: unknown): never => {
        throw error instanceof ApiError && error.code === 'invalid_api_key' ? ended() : error;
      });
      return { caller, expiresAt };
    },
    async end(token) {
      await store.remove(hashToken(token));
      cache.clear();
    },
  };
}

function hashToken(token: string): string {
  return hash('sha256', token);
}

const ended = () =>
  new ApiError(
    'session_ended',
    'The session of the console has ended, or its key works no more. Sign in again.',
  );

import type { ConsoleSession, SessionStore } from '../../contract/sessions.ts';
import type { Db, Queries } from '../../db.ts';
import { tableOf } from '../table.ts';

const sessions = tableOf<ConsoleSession>('console_sessions')(
  'hash keyHash keyIsConfigured host createdAt expiresAt',
);

/** Expired sessions that each new one removes. */
const sweptAtOnce = 100;

export async function endSessions(q: Queries, keyId: string): Promise<void> {
  await sessions.remove(q, { 'key_hash = (SELECT k.hash FROM api_keys k WHERE k.id = ?)': keyId });
}

export function createSessions(db: Db): SessionStore {
  return {
    insert: (session) =>
      db.tx(async (q) => {
        await sessions.insert(q, [session]);
        await q.all(
          `DELETE FROM console_sessions WHERE hash IN (
             SELECT hash FROM console_sessions WHERE expires_at <= ? ORDER BY expires_at LIMIT ? ${q.skipLocked})`,
          [session.createdAt, sweptAtOnce],
        );
      }),
    async findByHashes(hashes) {
      const found = await sessions.among(db, 'hash', hashes);
      return new Map(found.map((session) => [session.hash, session]));
    },
    remove: async (hash) => void (await sessions.remove(db, { hash })),
  };
}

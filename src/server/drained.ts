import { once } from 'node:events';
import type { Writable } from 'node:stream';

/**
 * So much may wait for a client that reads slowly, some thousand events: an engine is done with most answers long before
 * their reader is, and is free for others then.
 */
export const aheadBytes = 1 << 20;

/** Resolves when the client has taken what was written, or nobody waits for it any more. */
export async function drained(writable: Writable, signal: AbortSignal): Promise<void> {
  if (writable.destroyed) return;
  await once(writable, 'drain', { signal }).catch(() => {});
}

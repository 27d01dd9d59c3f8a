import type { StateKind } from '../../parts/state.tsx';

/** Fields of a key that decide whether it works. */
export interface KeyLike {
  disabled: boolean;
  revoked_at: string | null;
  expires_at: string | null;
  replaced_by: string | null;
}

/** Shape and word of the state of a key. @param now epoch milliseconds */
export function keyState(key: KeyLike, now: number): { kind: StateKind; word: string } {
  if (key.revoked_at !== null) return { kind: 'failed', word: 'Revoked' };
  if (isExpired(key, now)) return { kind: 'stopped', word: 'Expired' };
  if (key.disabled) return { kind: 'stopped', word: 'Disabled' };
  if (key.replaced_by !== null) return { kind: 'warning', word: 'Replaced, ends' };
  return { kind: 'done', word: 'Active' };
}

/** True for a key that works or can work again. */
export function isUsable(key: KeyLike, now: number): boolean {
  return key.revoked_at === null && !isExpired(key, now);
}

function isExpired({ expires_at: at }: Pick<KeyLike, 'expires_at'>, now: number): boolean {
  return at !== null && Date.parse(at) <= now;
}

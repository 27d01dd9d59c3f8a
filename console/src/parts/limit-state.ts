import type { LimitUse } from '../api/limits.ts';
import type { StateKind } from './state.tsx';

/** Share of a limit from which it counts as nearly used up. */
const nearShare = 0.9;

/** State of a limit in a word. */
export function limitState({ used, limit }: Pick<LimitUse, 'used' | 'limit'>): {
  kind: StateKind;
  word: string;
} {
  if (limit === 0) return { kind: 'stopped', word: 'Nothing allowed' };
  if (used >= limit) return { kind: 'failed', word: 'Used up' };
  if (used >= nearShare * limit) return { kind: 'warning', word: 'Nearly used up' };
  return { kind: 'done', word: 'Free' };
}

/** Ends that free a limit; null for a rate, which time frees. */
export function freedBy(name: LimitUse['name']): string | null {
  switch (name) {
    case 'concurrent_requests':
      return 'As requests end';
    case 'open_batches':
    case 'queued_requests':
    case 'queued_tokens':
      return 'As batches run';
    case 'stored_bytes':
    case 'stored_responses':
    case 'response_bytes':
      return 'By deletion';
    default:
      return null;
  }
}

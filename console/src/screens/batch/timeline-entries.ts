import type { BatchHistory } from '../../api/batches.ts';
import { toMs } from '../../parts/format.ts';
import type { StateKind } from '../../parts/state.tsx';

/** Part of the life of a batch. Instants are epoch milliseconds. */
export interface TimelineEntry {
  kind: StateKind;
  word: string;
  message: string | null;
  from: number;
  /** Null while it lasts, and for an end. */
  to: number | null;
}

const states: Readonly<Record<string, { kind: StateKind; word: string }>> = {
  validating: { kind: 'waiting', word: 'Created' },
  in_progress: { kind: 'running', word: 'First requests sent' },
  cancelling: { kind: 'stopped', word: 'Cancelling' },
  completed: { kind: 'done', word: 'Completed' },
  cancelled: { kind: 'stopped', word: 'Cancelled' },
  failed: { kind: 'failed', word: 'Failed' },
  expired: { kind: 'failed', word: 'Expired' },
};

/** States and waits of a batch in the order of time. */
export function timelineOf({
  states: reached,
  waits,
}: Pick<BatchHistory, 'states' | 'waits'>): TimelineEntry[] {
  const entries: TimelineEntry[] = reached.map(({ status, at }, n) => {
    const next = reached[n + 1];
    const shown = states[status] ?? { kind: 'waiting' as const, word: status };
    return { ...shown, message: null, from: toMs(at), to: next ? toMs(next.at) : null };
  });
  for (const { reason, message, since, until } of waits)
    entries.push({
      kind: reason === 'paused' ? 'stopped' : 'waiting',
      word: reason === 'paused' ? 'Paused' : `Waiting: ${reason.replaceAll('_', ' ')}`,
      message,
      from: toMs(since),
      to: until === null ? null : toMs(until),
    });
  return entries.toSorted((a, b) => a.from - b.from);
}

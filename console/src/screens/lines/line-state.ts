import type { LineState } from '../../../../src/core/line.ts';
import { duration } from '../../parts/format.ts';
import type { StateKind } from '../../parts/state.tsx';

/** Time that an attempt took: `43 ms`, or `2m 05s`. */
export function took(ms: number): string {
  return ms < 1_000 ? `${ms} ms` : duration(ms);
}

/** Shapes and words of the states of a line. */
export const lineState: Readonly<Record<LineState, { kind: StateKind; word: string }>> = {
  queued: { kind: 'waiting', word: 'Queued' },
  in_flight: { kind: 'running', word: 'In flight' },
  completed: { kind: 'done', word: 'Completed' },
  failed: { kind: 'failed', word: 'Failed' },
};

import type { StateKind } from './state.tsx';

/** Fields of a batch that decide how its state is shown. */
interface BatchLike {
  status: string;
  waiting?: { reason: string } | null | undefined;
  at_risk?: boolean | null | undefined;
}

const kinds: Readonly<Record<string, StateKind>> = {
  completed: 'done',
  in_progress: 'running',
  validating: 'running',
  cancelling: 'running',
  failed: 'failed',
  expired: 'failed',
  cancelled: 'stopped',
};

/** Shape and word of the state of a batch. A wait and a risk are shown before the progress. */
export function batchState({ status, waiting, at_risk: isAtRisk }: BatchLike): {
  kind: StateKind;
  word: string;
} {
  if (waiting?.reason === 'paused') return { kind: 'stopped', word: 'Paused' };
  if (waiting) return { kind: isAtRisk ? 'warning' : 'waiting', word: `Waiting: ${wordsOf(waiting.reason)}` };
  if (isAtRisk) return { kind: 'warning', word: 'At risk' };
  return { kind: kinds[status] ?? 'waiting', word: stateWord(status) };
}

/** Name of a status: `In progress`. */
export function stateWord(status: string): string {
  return capital(wordsOf(status));
}

function wordsOf(name: string): string {
  return name.replaceAll('_', ' ');
}

function capital(text: string): string {
  return text.charAt(0).toUpperCase() + text.slice(1);
}

import { State, type StateKind } from './state.tsx';

const states: Readonly<Record<string, readonly [kind: StateKind, word: string]>> = {
  up: ['done', 'Up'],
  open: ['failed', 'Down'],
  'half-open': ['warning', 'On trial'],
  draining: ['stopped', 'Drained'],
};

/** State of a server. @param health null for a drained server that no process lists */
export function ReplicaState({ health }: { health: string | null }) {
  const [kind, word] = states[health ?? ''] ?? ['waiting', 'Not listed'];
  return <State kind={kind}>{word}</State>;
}

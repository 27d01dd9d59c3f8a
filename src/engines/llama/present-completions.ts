import type { CompletionChoice, CompletionPiece } from '../../wire/completions/completions.ts';
import { logprobsWriter } from '../../wire/completions/logprobs.ts';
import type { NativeEvent } from '../engines.ts';
import { stopReason } from './present.ts';
import type { CompletedChoice, Delta } from './protocol.ts';

export function toCompletionChoice(
  { text, scored, finish, stop }: CompletedChoice,
  index: number,
): CompletionChoice {
  const logprobs = scored && logprobsWriter()(scored);
  return { index, text, logprobs, finish_reason: finish, ...stopReason(stop) };
}

/** Turns what is told of choices into pieces of a stream. */
export function createPieceWriter(): (index: number, delta: Delta) => NativeEvent {
  const writers = new Map<number, ReturnType<typeof logprobsWriter>>();
  return (index, { content = '', isEcho, scored, finish = null, stop }) => {
    const write = writers.get(index) ?? logprobsWriter();
    writers.set(index, write);
    const piece: CompletionPiece = {
      index,
      text: content,
      logprobs: scored ? write(scored) : null,
      finish_reason: finish,
      ...stopReason(stop),
    };
    return { type: '', data: '', fields: { choices: [piece] }, said: isEcho ? '' : content };
  };
}

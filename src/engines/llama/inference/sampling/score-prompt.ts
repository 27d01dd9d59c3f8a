import type { Token } from 'node-llama-cpp';
import type { SequenceLease } from '../scheduling/runner.ts';

/** Tokens that are evaluated at once: each brings a probability for every token of the vocabulary. */
const chunk = 32;
/** The model's own probabilities, of all tokens. */
const untouched = { temperature: 1, topK: 0, topP: 1, minP: 0, seed: 0 };

/**
 * Reads all but the last token of a prompt anew, whatever the sequence held.
 * @param see is told of each token but the first, with what the model expected in its place, most likely first; what it is
 * given is empty afterwards
 */
export async function scorePrompt(
  { sequence, signal, evaluate }: SequenceLease,
  prompt: readonly number[],
  see: (at: number, probabilities: ReadonlyMap<number, number>) => void,
): Promise<void> {
  await sequence.clearHistory();
  const last = prompt.length - 1;
  for (let from = 0; from < last; from += chunk) {
    signal.throwIfAborted();
    const tokens = prompt.slice(from, Math.min(from + chunk, last)) as Token[];
    await evaluate(tokens.length, () =>
      sequence.controlledEvaluate(
        tokens.map((token) => [token, { generateNext: { probabilities: true, options: untouched } }]),
        {
          onTokenResult(index, { next: { probabilities } }) {
            if (!probabilities) return;
            see(from + index + 1, probabilities);
            // The library keeps all of them until the last has come: with a large vocabulary, gigabytes.
            probabilities.clear();
          },
        },
      ),
    );
  }
}

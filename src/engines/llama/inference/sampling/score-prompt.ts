import type { Token } from 'node-llama-cpp';
import type { SequenceLease } from '../scheduling/runner.ts';

/** Tokens evaluated together: each yields a probability for every token of the vocabulary. */
const chunk = 32;
/** Probabilities of all tokens as the model has them. */
const untouched = { temperature: 1, topK: 0, topP: 1, minP: 0, seed: 0 };

/**
 * Evaluates all but the last token of a prompt, without the cache.
 * @param onToken gets each token but the first, with the probabilities in its place, most likely first; the map is cleared
 * afterwards
 */
export async function scorePrompt(
  { sequence, signal, evaluate }: SequenceLease,
  prompt: readonly number[],
  onToken: (at: number, probabilities: ReadonlyMap<number, number>) => void,
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
            onToken(from + index + 1, probabilities);
            // The library keeps them until the last one: gigabytes with a large vocabulary.
            probabilities.clear();
          },
        },
      ),
    );
  }
}

import { addUsage, noUsage, type Usage } from '../../core/usage.ts';
import type { InputIndex } from '../../files/input-index.ts';

const bytesAToken = 4;

/**
 * The tokens a batch is expected to take, by model. Prompts have what was counted; of those that were not, a token has as many
 * bytes of a line as in the others of the model, or four. Out is what the index estimates. Nothing is taken to be cached.
 * @param counted prompt tokens by line, where they are known
 */
export function estimateUsage(
  index: InputIndex,
  modelOf: (name: string) => string,
  counted: readonly (number | undefined)[],
): Map<string, Usage> {
  const known = index.models.map(() => ({ bytes: 0, tokens: 0 }));
  for (const [line, tokens] of counted.entries()) {
    if (tokens === undefined) continue;
    const ofModel = known[index.model[line]!]!;
    ofModel.bytes += index.length[line]!;
    ofModel.tokens += tokens;
  }
  const ratios = known.map(({ bytes, tokens }) => (bytes > 0 ? tokens / bytes : 1 / bytesAToken));
  const models = index.models.map(modelOf);
  const byModel = new Map<string, Usage>();
  for (let line = 0; line < index.count; line++) {
    const at = index.model[line]!;
    const length = index.length[line]!;
    const inputTokens = counted[line] ?? Math.ceil(length * ratios[at]!);
    const outputTokens = Math.max(0, index.est[line]! - Math.ceil(length / bytesAToken));
    const usage = { ...noUsage, inputTokens, outputTokens };
    byModel.set(models[at]!, addUsage(byModel.get(models[at]!) ?? noUsage, usage));
  }
  return byModel;
}

import { addUsage, noUsage, type Usage } from '../../core/usage.ts';
import type { InputIndex } from '../../files/input-index.ts';

const bytesPerToken = 4;

/**
 * Estimates the tokens of a batch by model. Uncounted prompts get the bytes per token of the model's counted lines, or 4.
 * Output comes from the index, and nothing counts as cached.
 * @param counted prompt tokens by line, where known
 */
export function estimateUsage(
  index: InputIndex,
  modelOf: (name: string) => string,
  counted: readonly (number | undefined)[],
): Map<string, Usage> {
  const totals = index.models.map(() => ({ bytes: 0, tokens: 0 }));
  for (const [line, tokens] of counted.entries()) {
    if (tokens === undefined) continue;
    const ofModel = totals[index.model[line]!]!;
    ofModel.bytes += index.length[line]!;
    ofModel.tokens += tokens;
  }
  const ratios = totals.map(({ bytes, tokens }) => (bytes > 0 ? tokens / bytes : 1 / bytesPerToken));
  const models = index.models.map(modelOf);
  const byModel = new Map<string, Usage>();
  for (let line = 0; line < index.count; line++) {
    const at = index.model[line]!;
    const length = index.length[line]!;
    const inputTokens = counted[line] ?? Math.ceil(length * ratios[at]!);
    const outputTokens = Math.max(0, index.est[line]! - Math.ceil(length / bytesPerToken));
    const usage = { ...noUsage, inputTokens, outputTokens };
    byModel.set(models[at]!, addUsage(byModel.get(models[at]!) ?? noUsage, usage));
  }
  return byModel;
}

import { addUsage, noUsage, type Usage } from '../../core/usage.ts';
import type { InputIndex } from '../../files/input-index.ts';

/**
 * The tokens a batch is expected to take, by model: four bytes of a line a token in, and of what its index estimates the
 * rest out. Nothing is taken to be cached.
 */
export function estimateUsage(index: InputIndex, modelOf: (name: string) => string): Map<string, Usage> {
  const models = index.models.map(modelOf);
  const byModel = new Map<string, Usage>();
  for (let line = 0; line < index.count; line++) {
    const model = models[index.model[line]!]!;
    const inputTokens = Math.ceil(index.length[line]! / 4);
    const outputTokens = Math.max(0, index.est[line]! - inputTokens);
    byModel.set(model, addUsage(byModel.get(model) ?? noUsage, { ...noUsage, inputTokens, outputTokens }));
  }
  return byModel;
}

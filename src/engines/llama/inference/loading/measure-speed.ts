import type { LlamaModel, Token } from 'node-llama-cpp';
import type { Clock } from '../../../../base/clock.ts';

/** Enough to see a difference; the caches of so few tokens are small. */
const contextSize = 256;
const promptTokens = 16;

/** Tokens a second that `model` generates with so many threads, measured for about `ms`. */
export async function measureSpeed(
  model: LlamaModel,
  {
    threads,
    ms,
    flashAttention,
    clock,
  }: { threads: number; ms: number; flashAttention: boolean; clock: Clock },
): Promise<number> {
  const context = await model.createContext({
    sequences: 1,
    contextSize,
    threads,
    flashAttention,
    failedCreationRemedy: false,
    ignoreMemorySafetyChecks: true,
  });
  try {
    const bos = model.tokens.bos ?? (0 as Token);
    const prompt = Array<Token>(promptTokens).fill(bos);
    let count = 0;
    let start = 0;
    const tokens = context.getSequence().evaluate(prompt, { temperature: 0, yieldEogToken: true });
    // The first token pays for the prompt and for pages not read yet.
    for await (const _ of tokens) {
      if (count === 0) start = clock.monotonic();
      count++;
      const isOver = count > 1 && clock.monotonic() - start >= ms;
      if (isOver || count + promptTokens >= contextSize) break;
    }
    return ((count - 1) * 1000) / Math.max(1e-3, clock.monotonic() - start);
  } finally {
    await context.dispose();
  }
}

import type { LlamaModel, Token } from 'node-llama-cpp';
import type { Clock } from '../../../../base/clock.ts';

/** More threads must be faster by this much: what they gain less is lost to whoever else works on the machine. */
const worthwhile = 1.05;
/** From here on, more threads only wait for each other. */
const hopeless = 0.7;

/** Numbers of threads worth a try: powers of two, and all cores but the one that feeds them. */
export function threadCandidates(cores: number): number[] {
  const most = Math.max(1, Math.floor(cores) - 1);
  const candidates: number[] = [];
  for (let threads = 1; threads < most; threads *= 2) candidates.push(threads);
  return [...candidates, most];
}

/**
 * Tries the candidates from the fewest on and gives the fewest threads that are about as fast as the fastest. Stops
 * where it becomes much slower: threads that share a core wait for each other without end.
 * @param measure tokens a second with so many threads
 */
export async function chooseThreads(
  candidates: readonly number[],
  measure: (threads: number) => Promise<number>,
): Promise<number> {
  let best: { threads: number; speed: number } | undefined;
  for (const threads of candidates.length > 1 ? candidates : []) {
    const speed = await measure(threads);
    if (!best || speed > best.speed * worthwhile) best = { threads, speed };
    else if (speed < best.speed * hopeless) break;
  }
  return best?.threads ?? candidates[0] ?? 1;
}

/** Enough to see a difference; the caches of so few tokens are small. */
const contextSize = 256;
const promptTokens = 16;

/** Tokens a second that `model` generates in such a context, measured for about `ms`. */
export async function measureSpeed(
  model: LlamaModel,
  wanted: { threads: number; flashAttention: boolean },
  ms: number,
  clock: Clock,
): Promise<number> {
  const context = await model.createContext({
    ...wanted,
    sequences: 1,
    contextSize,
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

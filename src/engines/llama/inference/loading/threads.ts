import type { LlamaModel, Token } from 'node-llama-cpp';
import type { Clock } from '../../../../base/clock.ts';

/** Required speed-up: a smaller one is not worth the load on the machine. */
const minSpeedup = 1.05;
/** Slowdown at which the measurements stop: more threads would only wait for each other. */
const stopBelow = 0.7;

/** Numbers of threads to measure: powers of two, and all cores but one, which feeds them. */
export function threadCandidates(cores: number): number[] {
  const most = Math.max(1, Math.floor(cores) - 1);
  const candidates: number[] = [];
  for (let threads = 1; threads < most; threads *= 2) candidates.push(threads);
  return [...candidates, most];
}

/**
 * Measures the candidates in ascending order. Returns the fewest threads that are about as fast as the fastest. Stops at a
 * clear slowdown, because threads that share a core block each other.
 * @param measure returns tokens per second
 */
export async function chooseThreads(
  candidates: readonly number[],
  measure: (threads: number) => Promise<number>,
): Promise<number> {
  let best: { threads: number; speed: number } | undefined;
  for (const threads of candidates.length > 1 ? candidates : []) {
    const speed = await measure(threads);
    if (!best || speed > best.speed * minSpeedup) best = { threads, speed };
    else if (speed < best.speed * stopBelow) break;
  }
  return best?.threads ?? candidates[0] ?? 1;
}

/** Tokens of the measured context: enough to see a difference, with small caches. */
const contextSize = 256;
const promptTokens = 16;

/** Tokens per second that `model` generates, measured for about `ms`. */
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
    // The first token includes the prompt and pages that are not read yet.
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

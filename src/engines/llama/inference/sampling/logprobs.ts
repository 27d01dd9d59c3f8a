import type { TokenLogprob } from '../../../../wire/chat/chat.ts';

export interface LogprobOptions {
  /** Number of most likely tokens to report. */
  top: number;
  temperature: number;
  textOf(token: number, previous: number | undefined): string;
}

/**
 * True if the probability of the sampled token alone is enough: no other token is reported, and no temperature has to be undone.
 * The probabilities of all tokens take longer to pass to JavaScript than a token takes to compute.
 */
export function needsOneProbability({
  top,
  temperature,
}: Pick<LogprobOptions, 'top' | 'temperature'>): boolean {
  return top === 0 && (temperature === 1 || temperature <= 0);
}

/**
 * Log probabilities of a sampled token. `probabilities` are those that the sampler chose from, most likely first, after the
 * temperature and the cuts of top_k, top_p and min_p. The temperature is undone, so the results are those of the model,
 * normalized over the remaining tokens.
 */
export function tokenLogprob(
  token: number,
  probabilities: ReadonlyMap<number, number>,
  previous: number | undefined,
  options: LogprobOptions,
): TokenLogprob {
  const scale = options.temperature > 0 ? options.temperature : 1;
  let sum = scale === 1 ? 1 : 0;
  if (scale !== 1) for (const probability of probabilities.values()) sum += probability ** scale;
  const describe = (id: number): Omit<TokenLogprob, 'top_logprobs'> => {
    const text = options.textOf(id, previous);
    const probability = (probabilities.get(id) ?? 0) ** scale / sum;
    return {
      token: text,
      logprob: probability > 0 ? Math.min(0, Math.log(probability)) : minLogprob,
      // The bytes of a token inside a character are unknown.
      bytes: text.includes('\uFFFD') ? null : [...new TextEncoder().encode(text)],
    };
  };
  // A vocabulary may have hundreds of thousands of tokens.
  const best: number[] = [];
  for (const id of probabilities.keys()) {
    if (best.length === options.top) break;
    best.push(id);
  }
  return { ...describe(token), top_logprobs: best.map(describe) };
}

/** Represents minus infinity, which JSON lacks. */
const minLogprob = -9999;

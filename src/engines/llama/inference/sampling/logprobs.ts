import type { TokenLogprob } from '../../../../wire/chat/chat.ts';

export interface LogprobOptions {
  /** How many of the likeliest tokens are told beside. */
  top: number;
  /** Of the request. */
  temperature: number;
  textOf(token: number, previous: number | undefined): string;
}

/**
 * The log probabilities of a sampled token. `probabilities` are what the sampler chose from, most likely first:
 * behind the temperature and the cuts of top_k, top_p and min_p. The temperature is undone, so that they are the
 * model's own, spread over the tokens that were left.
 */
export function tokenLogprob(
  token: number,
  probabilities: ReadonlyMap<number, number>,
  previous: number | undefined,
  options: LogprobOptions,
): TokenLogprob {
  const scale = options.temperature > 0 ? options.temperature : 1;
  const isUntouched = scale === 1;
  let sum = isUntouched ? 1 : 0;
  if (!isUntouched) for (const probability of probabilities.values()) sum += probability ** scale;
  const describe = (id: number): Omit<TokenLogprob, 'top_logprobs'> => {
    const text = options.textOf(id, previous);
    const probability = (probabilities.get(id) ?? 0) ** scale / sum;
    return {
      token: text,
      logprob: probability > 0 ? Math.min(0, Math.log(probability)) : leastLogprob,
      // A token inside a character has no text of its own, and its bytes are not told.
      bytes: text.includes('\uFFFD') ? null : [...new TextEncoder().encode(text)],
    };
  };
  // A vocabulary may have hundreds of thousands.
  const best: number[] = [];
  for (const id of probabilities.keys()) {
    if (best.length === options.top) break;
    best.push(id);
  }
  return { ...describe(token), top_logprobs: best.map(describe) };
}

/** Stands for minus infinity, which JSON cannot write. */
const leastLogprob = -9999;

import type { SequenceEvaluateOptions, Token } from 'node-llama-cpp';
import type { Random } from '../../../../base/random.ts';
import { invalid } from '../../../../core/errors.ts';
import type { Sampling } from '../../../../wire/completions/completions.ts';
import type { Vocabulary } from '../vocabulary.ts';

/** Window of the multiplicative penalty of llama.cpp. */
const repeatWindow = 64;
/** Maximum tokens of an answer that count for the penalties. */
const penaltyWindow = 4096;

/** Ranks behind all other tokens, but stays possible where a grammar allows no other. */
const unlikely = { logit: -10_000 };

/**
 * Options of the library for a request.
 * @param run `generated` grows with the answer; `seed` differs for each choice; tokens in `banned` never come under a grammar
 */
export function samplingOptions(
  request: Sampling,
  vocabulary: Vocabulary,
  run: { prompt: readonly number[]; generated: readonly number[]; seed: number; banned?: readonly number[] },
): SequenceEvaluateOptions {
  const options: SequenceEvaluateOptions = {
    temperature: request.temperature ?? 1,
    topP: request.top_p ?? 1,
    topK: topKOf(request),
    minP: request.min_p ?? 0,
    seed: run.seed,
  };
  const bias = tokenBias(request, vocabulary, run.banned);
  if (bias) options.tokenBias = bias;
  const repeat = request.repeat_penalty ?? request.repetition_penalty ?? 1;
  const [frequency, presence] = [request.frequency_penalty ?? 0, request.presence_penalty ?? 0];
  if (repeat === 1 && frequency === 0 && presence === 0) return options;
  // Penalties of OpenAI count the answer alone; the one of llama.cpp includes the end of the prompt.
  const before = repeat === 1 ? [] : run.prompt.slice(-repeatWindow);
  options.repeatPenalty = {
    punishTokens: () => [...before, ...run.generated].slice(-penaltyWindow) as Token[],
    penalty: repeat,
    frequencyPenalty: frequency,
    presencePenalty: presence,
  };
  return options;
}

/**
 * The library takes 0 for all tokens and sorts them, which costs most of the time of sampling; null, which its types lack, turns
 * the step off, and undefined means 40.
 */
function topKOf({ top_k: topK }: Sampling): number {
  return topK !== undefined && topK !== null && topK > 0 ? topK : (null as unknown as number);
}

function tokenBias(
  request: Sampling,
  { size, isEnd, newBias }: Vocabulary,
  banned: readonly number[] | undefined,
): SequenceEvaluateOptions['tokenBias'] {
  const entries = Object.entries(request.logit_bias ?? {});
  if (entries.length + (banned?.length ?? 0) === 0) return undefined;
  // If every token is banned, llama.cpp samples one that breaks the grammar, which ends the process.
  const least = banned ? unlikely : 'never';
  const bias = newBias();
  for (const [key, value] of entries) {
    const token = Number(key);
    if (!Number.isInteger(token) || token < 0 || token >= size) {
      throw invalid(`logit_bias.${key}`, `this model has no such token; its ids go from 0 to ${size - 1}`);
    }
    if (isEnd(token)) {
      throw invalid(`logit_bias.${key}`, 'the tokens that end an answer cannot be biased by this engine');
    }
    bias.set(token as Token, value <= -100 ? least : { logit: value });
  }
  for (const token of banned ?? []) bias.set(token as Token, 'never');
  return bias;
}

/** Seed of a request, or a random one. */
export function requestSeed({ seed }: Sampling, random: Random): number {
  return seed ?? new DataView(random.bytes(4).buffer).getUint32(0);
}

/** Seed of a choice: unsigned, 32 bits. */
export function choiceSeed(seed: number, choice: number): number {
  return Number(BigInt.asUintN(32, BigInt(Math.trunc(seed)) + BigInt(choice)));
}

/** Stop strings of a request, without empty ones. */
export function stopStrings({ stop }: Sampling): string[] {
  return [stop ?? []].flat().filter((text) => text !== '');
}

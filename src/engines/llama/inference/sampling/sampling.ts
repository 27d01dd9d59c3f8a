import type { SequenceEvaluateOptions, Token } from 'node-llama-cpp';
import type { Random } from '../../../../base/random.ts';
import { invalid } from '../../../../core/errors.ts';
import type { Sampling } from '../../../../wire/completions/completions.ts';
import type { Vocabulary } from '../vocabulary.ts';

/** The window of llama.cpp's multiplicative penalty. */
const repeatWindow = 64;
/** The longest answer whose every token still counts for the penalties. */
const penaltyWindow = 4096;

/** Behind every other token, but there where a grammar allows no other. */
const unlikely = { logit: -10_000 };

/**
 * The library's options for a request. `generated` grows while the answer does; `seed` is the request's or a random
 * one, already different for each choice. Where a grammar confines the answer, tokens that are `banned` must not come,
 * whatever the request wishes.
 */
export function samplingOptions(
  request: Sampling,
  vocabulary: Vocabulary,
  run: { prompt: readonly number[]; generated: readonly number[]; seed: number; banned?: readonly number[] },
): SequenceEvaluateOptions {
  const options: SequenceEvaluateOptions = {
    temperature: request.temperature ?? 1,
    topP: request.top_p ?? 1,
    topK: request.top_k ?? 0,
    minP: request.min_p ?? 0,
    seed: run.seed,
  };
  const bias = tokenBias(request, vocabulary, run.banned);
  if (bias) options.tokenBias = bias;
  const repeat = request.repeat_penalty ?? request.repetition_penalty ?? 1;
  const [frequency, presence] = [request.frequency_penalty ?? 0, request.presence_penalty ?? 0];
  if (repeat === 1 && frequency === 0 && presence === 0) return options;
  // OpenAI's penalties count the answer alone, llama.cpp's also the end of the prompt.
  const before = repeat === 1 ? [] : run.prompt.slice(-repeatWindow);
  options.repeatPenalty = {
    punishTokens: () => [...before, ...run.generated].slice(-penaltyWindow) as Token[],
    penalty: repeat,
    frequencyPenalty: frequency,
    presencePenalty: presence,
  };
  return options;
}

function tokenBias(
  request: Sampling,
  { size, isEnd, newBias }: Vocabulary,
  banned: readonly number[] | undefined,
): SequenceEvaluateOptions['tokenBias'] {
  const entries = Object.entries(request.logit_bias ?? {});
  if (entries.length + (banned?.length ?? 0) === 0) return undefined;
  // With nothing left to choose from, llama.cpp takes any token, and the grammar that it breaks ends the process.
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

/** The seed of a request, or a random one. */
export function requestSeed({ seed }: Sampling, random: Random): number {
  return seed ?? new DataView(random.bytes(4).buffer).getUint32(0);
}

/** A seed as the sampler takes it, 32 bits without sign, for the `choice`-th answer. */
export function choiceSeed(seed: number, choice: number): number {
  return Number(BigInt.asUintN(32, BigInt(Math.trunc(seed)) + BigInt(choice)));
}

/** The texts at which an answer ends. An empty one would end it before it begins. */
export function stopStrings({ stop }: Sampling): string[] {
  return [stop ?? []].flat().filter((text) => text !== '');
}

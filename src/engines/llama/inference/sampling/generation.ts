import type { SequenceEvaluateMetadataOptions, SequenceEvaluateOptions, Token } from 'node-llama-cpp';
import type { ChatChoice, FinishReason } from '../../../../wire/chat/chat.ts';
import type { Closer } from '../../grammar/closer.ts';
import type { Delta, GenerateOptions } from '../../protocol.ts';
import type { AnswerText } from '../answer/answer-text.ts';
import { prefillChunk } from '../scheduling/batch-gate.ts';
import type { SequenceLease } from '../scheduling/runner.ts';
import type { TextDecoder } from '../answer/text-decoder.ts';
import { type LogprobOptions, needsOneProbability, tokenLogprob } from './logprobs.ts';

export interface AnswersCall<D extends Delta> extends Pick<GenerateOptions, 'priority' | 'prefix'> {
  signal: AbortSignal;
  /** Undefined without a stream. */
  onDelta: ((delta: D) => void) | undefined;
}

export interface GenerationInput {
  lease: SequenceLease;
  prompt: readonly number[];
  /** Maximum tokens to generate, at least 1. */
  limit: number;
  /** @param generated the tokens so far, for the penalties */
  sampling: (generated: readonly number[]) => SequenceEvaluateOptions;
  decoder: TextDecoder;
  answer: AnswerText;
  /** Set if a grammar constrains the answer. */
  closer?: Closer | undefined;
  /** Set if log probabilities are requested. */
  logprobs: LogprobOptions | undefined;
  /** True for a token that ends the answer; needed with `yieldEogToken`. */
  isEnd?: (token: number) => boolean;
  /** Called after the prompt was read except its last tokens, with the number of cached tokens. */
  onPrompt?: (cached: number) => unknown;
}

export interface GenerationOutput {
  ending: Pick<ChatChoice, 'finish_reason' | 'stop_reason'>;
  cachedTokens: number;
  completionTokens: number;
}

/** End of sampling: by the model, at the limit, or at a stop string. */
type Ending = 'open' | 'length' | 'stop-string';

/** Generates one answer in a sequence. Rejects with the reason of the signal when it aborts. */
export async function generateAnswer(input: GenerationInput): Promise<GenerationOutput> {
  const { closer, answer, decoder, limit, lease } = input;
  const generated: number[] = [];
  const options = input.sampling(generated);
  const cachedTokens = await evaluatePrompt(input);
  input.onPrompt?.(cachedTokens);
  const rest = input.prompt.slice(lease.sequence.nextTokenIndex) as Token[];
  const metadata = metadataFor(input.logprobs);
  const samples: Samples = lease.sequence.evaluateWithMetadata(rest, metadata, options);
  let kept = 0;
  let ending: Ending = 'open';
  try {
    while (ending === 'open') {
      const sample = await nextSample(input, samples);
      if (!sample) break;
      lease.signal.throwIfAborted();
      const { token } = sample;
      const previous = generated.at(-1) ?? input.prompt.at(-1);
      const probabilities = probabilitiesOf(sample);
      const logprob =
        probabilities && input.logprobs && tokenLogprob(token, probabilities, previous, input.logprobs);
      if (input.isEnd?.(token)) {
        answer.push('', logprob);
        break;
      }
      generated.push(token);
      const text = decoder.push(token);
      const used = generated.length;
      if (closer && text !== '' && !closer.accept(text, limit - used)) {
        ending = 'length';
        break;
      }
      if (decoder.held === 0) kept = used;
      if (answer.push(text, logprob)) ending = 'stop-string';
      else if (closer?.isExhausted) break;
      else if (used >= limit) ending = 'length';
    }
  } finally {
    await samples.return();
  }
  if (!closer && ending !== 'stop-string') answer.push(decoder.end());
  const completionTokens = closer ? kept + complete(input, closer, ending, kept) : generated.length;
  answer.end();
  const { stop } = answer;
  return {
    // `stop_reason` is the name in vLLM.
    ending: { finish_reason: finishReason(input, ending), ...(stop !== undefined && { stop_reason: stop }) },
    cachedTokens,
    completionTokens,
  };
}

/** Evaluates all but the last tokens of the prompt. Returns the number of tokens that were cached. */
async function evaluatePrompt({ lease, prompt }: GenerationInput): Promise<number> {
  const { sequence, signal, evaluate } = lease;
  // The last token is always evaluated, because the first sampled token needs its logits.
  await sequence.adaptStateToTokens(prompt.slice(0, -1) as Token[], false);
  signal.throwIfAborted();
  const cached = sequence.nextTokenIndex;
  for (let at = cached; prompt.length - at > prefillChunk; at += prefillChunk) {
    const chunk = prompt.slice(at, at + prefillChunk) as Token[];
    await evaluate(prefillChunk, () => sequence.evaluateWithoutGeneratingNewTokens(chunk));
    signal.throwIfAborted();
  }
  return cached;
}

interface Sample {
  token: number;
  probabilities?: ReadonlyMap<number, number> | undefined;
  /** Probability of the token. */
  confidence?: number | undefined;
}

function metadataFor(logprobs: LogprobOptions | undefined): SequenceEvaluateMetadataOptions {
  if (!logprobs) return {};
  return needsOneProbability(logprobs) ? { confidence: true } : { probabilities: true };
}

function probabilitiesOf({ token, probabilities, confidence }: Sample): Sample['probabilities'] {
  return probabilities ?? (confidence === undefined ? undefined : new Map([[token, confidence]]));
}

type Samples = AsyncGenerator<Sample, void, undefined>;

/** Next token; undefined at the end of the answer. */
async function nextSample(
  { lease: { sequence, evaluate }, prompt, closer }: GenerationInput,
  samples: Samples,
): Promise<Sample | undefined> {
  // The first one includes the rest of the prompt.
  const tokens = Math.max(1, prompt.length - sequence.nextTokenIndex);
  try {
    const { value } = await evaluate(tokens, () => samples.next());
    return value ?? undefined;
  } catch (error) {
    // No token of the vocabulary continues the grammar, but the closer can.
    if (closer && error instanceof Error && error.message === 'Failed to sample next token') return undefined;
    throw error;
  }
}

/** Completes a constrained text. Returns the number of added tokens. */
function complete({ answer, limit }: GenerationInput, closer: Closer, ending: Ending, kept: number): number {
  if (ending === 'stop-string') closer.rewind(answer.raw);
  const { text, tokens } = closer.closing();
  answer.append(text);
  return Math.min(tokens, limit - kept);
}

function finishReason({ answer, closer }: GenerationInput, ending: Ending): FinishReason {
  if (ending === 'length') return 'length';
  if (ending === 'open' && closer && !closer.isComplete) return 'length';
  return answer.calls > 0 ? 'tool_calls' : 'stop';
}

import type { LlamaContextSequence, SequenceEvaluateOptions, Token } from 'node-llama-cpp';
import type { FinishReason, TokenLogprob } from '../../../wire/chat/chat.ts';
import type { Closer, Measure } from '../grammar/closer.ts';
import type { AnswerText } from './answer-text.ts';
import { commonLength } from './slots.ts';
import type { TextDecoder } from './text-decoder.ts';

export interface GenerationInput {
  sequence: LlamaContextSequence;
  prompt: readonly number[];
  /** Tokens that may be generated, at least 1. */
  limit: number;
  options: SequenceEvaluateOptions;
  /** Tokens generated so far; the penalties of `options` read it. */
  generated: number[];
  decoder: TextDecoder;
  answer: AnswerText;
  /** Present when a grammar confines the answer. */
  closer: Closer | undefined;
  measure: Measure;
  /** Present when log probabilities are wanted. */
  describe: ((token: number, probabilities: ReadonlyMap<number, number>) => TokenLogprob) | undefined;
  signal: AbortSignal;
  onStep: () => void;
}

export interface GenerationOutput {
  finish: FinishReason;
  cachedTokens: number;
  completionTokens: number;
}

/** How sampling ended: by the model itself, at the limit, or at a stop string. */
type Ending = 'open' | 'length' | 'stop-string';

/** Prompt tokens evaluated between two looks at the signal: one batch of llama.cpp. */
const prefillChunk = 512;

/** Generates one answer in a sequence. Rejects with the signal's reason when it aborts. */
export async function generateAnswer(input: GenerationInput): Promise<GenerationOutput> {
  const { closer, answer, decoder, limit } = input;
  const cachedTokens = await evaluatePrompt(input);
  let kept = 0;
  let ending: Ending = 'open';
  for await (const { token, probabilities } of sample(input)) {
    input.signal.throwIfAborted();
    input.onStep();
    input.generated.push(token);
    const text = decoder.push(token);
    const used = input.generated.length;
    if (closer && text !== '' && !closer.accept(text, limit - used)) {
      ending = 'length';
      break;
    }
    if (decoder.held === 0) kept = used;
    const isStopped = answer.push(text, probabilities && input.describe?.(token, probabilities));
    if (isStopped) ending = 'stop-string';
    else if (!closer?.isExhausted && used >= limit) ending = 'length';
    if (ending !== 'open' || closer?.isExhausted) break;
  }
  const completionTokens = closer ? kept + close(input, closer, ending, kept) : finishText(input, ending);
  return { finish: finishReason(input, ending), cachedTokens, completionTokens };
}

/** Brings the sequence to hold all but the last tokens of the prompt; returns how many it held already. */
async function evaluatePrompt({
  sequence,
  prompt,
  signal,
  options,
  onStep,
}: GenerationInput): Promise<number> {
  // The last token is always evaluated: its logits are what the first sampled token comes from.
  const keep = Math.min(commonLength(sequence.contextTokens, prompt), prompt.length - 1);
  if (sequence.nextTokenIndex > keep) {
    await sequence.eraseContextTokenRanges([{ start: keep, end: sequence.nextTokenIndex }]);
  }
  signal.throwIfAborted();
  const cached = sequence.nextTokenIndex;
  const { evaluationPriority } = options;
  for (let at = cached; prompt.length - at > prefillChunk; at += prefillChunk) {
    const chunk = prompt.slice(at, at + prefillChunk) as Token[];
    await sequence.evaluateWithoutGeneratingNewTokens(
      chunk,
      evaluationPriority ? { evaluationPriority } : {},
    );
    onStep();
    signal.throwIfAborted();
  }
  return cached;
}

interface Sample {
  token: number;
  probabilities?: ReadonlyMap<number, number> | undefined;
}

async function* sample(input: GenerationInput): AsyncGenerator<Sample, void> {
  const rest = input.prompt.slice(input.sequence.nextTokenIndex) as Token[];
  const { sequence, options } = input;
  try {
    if (input.describe) yield* sequence.evaluateWithMetadata(rest, { probabilities: true }, options);
    else yield* sequence.evaluateWithMetadata(rest, {}, options);
  } catch (error) {
    // No token of the vocabulary continues the grammar: the closer still can.
    if (input.closer && error instanceof Error && error.message === 'Failed to sample next token') return;
    throw error;
  }
}

/** Completes a constrained text; returns how many tokens that took. */
function close(
  { answer, measure, limit }: GenerationInput,
  closer: Closer,
  ending: string,
  kept: number,
): number {
  if (ending === 'stop-string') closer.rewind(answer.raw);
  const closing = closer.isComplete ? '' : closer.closing();
  answer.append(closing);
  answer.end();
  return closing === '' ? 0 : Math.min(measure(closing), limit - kept);
}

function finishText({ answer, decoder, generated }: GenerationInput, ending: Ending): number {
  if (ending !== 'stop-string') answer.push(decoder.end());
  answer.end();
  return generated.length;
}

function finishReason({ answer, closer }: GenerationInput, ending: Ending): FinishReason {
  if (ending === 'length') return 'length';
  if (ending === 'open' && closer && !closer.isComplete) return 'length';
  return answer.calls.length > 0 ? 'tool_calls' : 'stop';
}

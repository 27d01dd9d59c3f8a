import type { Ids } from '../../../base/ids.ts';
import type { Random } from '../../../base/random.ts';
import { sum } from '../../../base/sum.ts';
import { ApiError, invalid } from '../../../core/errors.ts';
import type { ChatChoice, ChatChunk, ChatRequest, PromptUsage } from '../../../wire/chat/chat.ts';
import { answerRule } from '../../../wire/chat/answer-rule.ts';
import { chatUsage, promptUsage } from '../../../wire/chat/usage.ts';
import { type EmbeddingsRequest, isEmbeddings } from '../../../wire/embeddings/embeddings.ts';
import { type Measure, createCloser, shortestTokens } from '../grammar/closer.ts';
import { createMatcher } from '../grammar/matcher.ts';
import { addToChoice, completeChoice } from '../../../wire/chat/stream/fold-chunks.ts';
import type { ChatResult, Deltas } from '../protocol.ts';
import { type CallableTools, createAnswerText } from './answer/answer-text.ts';
import { createBatchGate } from './scheduling/batch-gate.ts';
import { createCompleter } from './completions.ts';
import { createConstraints } from './constraint.ts';
import type { Analysed } from '../grammar/analysis.ts';
import { createEmbedder } from './embeddings.ts';
import { familyMarkers, detectFamily } from './families.ts';
import { type AnswersCall, type GenerationOutput, generateAnswer } from './sampling/generation.ts';
import { type TokenLimit, tokenLimit } from './prompt/limits.ts';
import type { Loaded } from './loading/load.ts';
import { createPrompts } from './prompt/prompt.ts';
import { createRunner } from './scheduling/runner.ts';
import { choiceSeed, samplingOptions, requestSeed, stopStrings } from './sampling/sampling.ts';
import { createTextDecoder } from './answer/text-decoder.ts';
import { createVocabulary } from './vocabulary.ts';

export type LlamaInference = ReturnType<typeof createLlamaInference>;

/** Operations of a loaded model. */
export function createLlamaInference(loaded: Loaded, ids: Ids, random: Random) {
  const { library, llama, model, context, contextLength } = loaded;
  const template = model.fileInfo.metadata.tokenizer.chat_template;
  const vocabulary = createVocabulary(library, model);
  const family = detectFamily(template);
  const promptOf = createPrompts(template, vocabulary, family, contextLength);
  // Control tokens that detokenizing would drop. A marker may have several tokens: `<|channel|>commentary to=...`.
  const { controls, isEnd } = vocabulary;
  const ownMarkers = familyMarkers(family);
  const markers = new Map(
    [...controls].filter(([, text]) => text !== '' && ownMarkers.some((marker) => marker.includes(text))),
  );
  // llama.cpp matches the text of any control token with a grammar, but detokenizing drops it.
  const unreadable = [...controls.keys()].filter((id) => !markers.has(id) && !isEnd(id));
  const constraintOf = createConstraints(llama, family);
  let steps = 0;
  const onStep = (): void => void steps++;
  const runner = createRunner(
    Array.from({ length: context.totalSequences }, () => context.getSequence()),
    createBatchGate(context.batchSize, onStep),
  );
  const embedder = createEmbedder(loaded, vocabulary, onStep);
  const complete = createCompleter(loaded, vocabulary, runner, random);
  const measure: Measure = (text) => vocabulary.tokenize(text, false).length;
  const textOf = (token: number): string => vocabulary.detokenize([token]);

  async function generate(request: ChatRequest, call: AnswersCall<Deltas['generate']>): Promise<ChatResult> {
    const { tokens: prompt, isThinking } = promptOf(request);
    const limit = tokenLimit(request, prompt.length, contextLength);
    const logprobs = request.logprobs
      ? { top: request.top_logprobs ?? 0, temperature: request.temperature ?? 1, textOf }
      : undefined;
    const confined = await constraintOf(request);
    if (confined) refuseTooShort(confined.analysed, limit, prompt.length);
    const firstSeed = requestSeed(request, random);
    const choices: ChatChoice[] = [];
    const made = await Promise.all(Array.from({ length: request.n ?? 1 }, (_, at) => generateChoice(at)));
    if (request.logprobs) for (const choice of choices) choice.logprobs ??= { content: [], refusal: null };
    return {
      choices: choices.map(completeChoice),
      usage: chatUsage(
        promptUsage(prompt.length, made[0]!.cachedTokens),
        sum(made.map(({ completionTokens }) => completionTokens)),
        sum(made.map(({ reasoningTokens }) => reasoningTokens)),
      ),
    };

    async function generateChoice(index: number): Promise<GenerationOutput & { reasoningTokens: number }> {
      const writer = createChoiceWriter(index, choices, call.onDelta);
      const [seed, banned] = [choiceSeed(firstSeed, index), confined && unreadable];
      const answer = createAnswerText({
        family,
        isThinking,
        stops: stopStrings(request),
        tools: callableTools(request, () => ids.next('call_')),
        onDelta: (delta, certain = []) => {
          const content = certain.map((token) => token.logprob);
          writer.write({ delta, logprobs: content.length > 0 ? { content, refusal: null } : null });
        },
      });
      const output = await runner.run({ ...call, prompt }, (lease) =>
        generateAnswer({
          lease,
          prompt,
          limit: limit.tokens,
          sampling: (generated) => ({
            ...samplingOptions(request, vocabulary, { prompt, generated, seed, banned }),
            ...(confined && {
              grammarEvaluationState: new library.LlamaGrammarEvaluationState({
                model,
                grammar: confined.grammar,
              }),
            }),
          }),
          decoder: createTextDecoder(vocabulary.detokenize, markers),
          answer,
          closer: confined && createCloser(createMatcher(confined.analysed), measure),
          logprobs,
          // The first choice reports the prompt.
          onPrompt: (cached) => index === 0 && writer.onPrompt(promptUsage(prompt.length, cached)),
        }),
      );
      writer.write(output.ending);
      return { ...output, reasoningTokens: Math.min(answer.reasoningTokens, output.completionTokens) };
    }
  }

  function refuseTooShort(analysed: Analysed, limit: TokenLimit, promptTokens: number): void {
    const shortest = shortestTokens(createMatcher(analysed), measure);
    if (shortest <= limit.tokens) return;
    if (limit.field)
      throw invalid(
        limit.field,
        `the shortest answer the schema allows needs ${shortest} tokens, so at least ${shortest}`,
      );
    const remedy = shortest < contextLength ? 'Shorten the messages.' : 'Lower the minimums of the schema.';
    throw new ApiError(
      'context_length_exceeded',
      `The prompt has ${promptTokens} tokens and the shortest answer the schema allows needs ${shortest} more, ` +
        `but this model's context holds ${contextLength}. ${remedy}`,
      { param: 'messages' },
    );
  }

  return {
    generate,
    complete,
    embed: embedder.embed,
    countTokens: (request: ChatRequest | EmbeddingsRequest): number | Promise<number> =>
      isEmbeddings(request) ? embedder.countTokens(request) : promptOf(request).tokens.length,
    /** Tokens evaluated or batches finished since the start. */
    get steps() {
      return steps;
    },
  };
}

/** Tools that the answer may call; without any, markers stay text. */
function callableTools(request: ChatRequest, newCallId: () => string): CallableTools | undefined {
  const { names, maxCalls } = answerRule(request);
  return names && maxCalls > 0 ? { names, maxCalls, newCallId } : undefined;
}

type ChoiceChunk = ChatChunk['choices'][number];

/** Writes one choice of a chat: as chunks to `onDelta`, the role first, or without it into `choices`. */
export function createChoiceWriter(
  index: number,
  choices: ChatChoice[],
  onDelta: ((delta: Deltas['generate']) => void) | undefined,
) {
  const blank: ChoiceChunk = { index, delta: {}, logprobs: null, finish_reason: null };
  let hasBegun = false;
  let prompt: PromptUsage | undefined;
  return {
    /** Usage of the prompt, for the first chunk. */
    onPrompt: (usage: PromptUsage) => void (prompt = usage),
    write(given: Partial<ChoiceChunk>): void {
      const chunk: ChoiceChunk = { ...blank, ...given };
      if (!onDelta) return void addToChoice(choices, chunk);
      if (!hasBegun) {
        const first: ChoiceChunk = { ...blank, delta: { role: 'assistant', content: '' } };
        onDelta({ choices: [first], ...(prompt && { prompt }) });
        hasBegun = true;
      }
      onDelta({ choices: [chunk] });
    },
  };
}

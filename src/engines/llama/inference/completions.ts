import { mapConcurrent } from '../../../base/map-concurrent.ts';
import type { Random } from '../../../base/random.ts';
import { sum } from '../../../base/sum.ts';
import { invalid } from '../../../core/errors.ts';
import {
  type CompletionsRequest,
  type CompletionPiece,
  defaultMaxTokens,
} from '../../../wire/completions/completions.ts';
import { type ScoredToken, logprobsWriter } from '../../../wire/completions/logprobs.ts';
import { answersPerPrompt } from '../../../wire/completions/request.ts';
import { chatUsage, promptUsage } from '../../../wire/chat/usage.ts';
import { splitTextInputs, type TextInput } from '../../../wire/shared/text-inputs.ts';
import type { CompletionResult, Deltas } from '../protocol.ts';
import { type AnswersCall, type GenerationOutput, generateAnswer } from './sampling/generation.ts';
import { knownTokens, readPrompt, tokenLimit } from './prompt/limits.ts';
import { tokenLogprob } from './sampling/logprobs.ts';
import { createAnswerText } from './answer/answer-text.ts';
import type { Loaded } from './loading/load.ts';
import type { SequenceLease, Runner } from './scheduling/runner.ts';
import { choiceSeed, samplingOptions, requestSeed, stopStrings } from './sampling/sampling.ts';
import { scorePrompt } from './sampling/score-prompt.ts';
import { createTextDecoder } from './answer/text-decoder.ts';
import type { Vocabulary } from './vocabulary.ts';

/** Maximum log probabilities of prompts in one response. */
const maxScored = 5_000_000;

interface RawPrompt {
  tokens: number[];
  /** Text that an echo begins with. */
  text: string;
  limit: number;
  /** Log probabilities of its tokens, read once for all of its answers. */
  scored?: Promise<ScoredToken[]>;
}

interface Made {
  text: string;
  /** Log probabilities of its tokens, if requested. */
  tokens: ScoredToken[];
  output: GenerationOutput;
}

type Call = AnswersCall<Deltas['complete']>;

/** Ending of a piece that is not the last. */
const open: Pick<CompletionPiece, 'finish_reason' | 'stop_reason'> = { finish_reason: null };

/** Continues raw prompts. The text of a control token in a prompt is that token. */
export function createCompleter(
  { context, contextLength }: Loaded,
  vocabulary: Vocabulary,
  runner: Runner,
  random: Random,
) {
  const { detokenize } = vocabulary;

  function promptOf({ input, param }: TextInput, most: number): RawPrompt {
    const tokens =
      typeof input === 'string'
        ? readPrompt([{ text: input, isTemplate: true }], vocabulary, contextLength, param)
        : knownTokens(input, param, vocabulary.size);
    const limit = tokenLimit({ max_tokens: Math.max(1, most) }, tokens.length, contextLength, param).tokens;
    const text = typeof input === 'string' ? input : detokenize(tokens, [], true);
    return { tokens, text, limit: Math.min(limit, most) };
  }

  /** Reads a prompt from its start, for the log probabilities of its tokens. */
  async function score(lease: SequenceLease, { tokens, text }: RawPrompt, top: number) {
    const decoder = createTextDecoder((ids, previous) => detokenize(ids, previous, true));
    const found = tokens.map((token, at): ScoredToken => ({
      token: textOf(token, tokens[at - 1]),
      logprob: null,
      top_logprobs: [],
      text: decoder.push(token),
    }));
    // A token that was added before the text is not part of it.
    if (found[0] && !text.startsWith(found[0].text ?? '')) found[0].text = '';
    await scorePrompt(lease, tokens, (at, probabilities) =>
      Object.assign(
        found[at]!,
        tokenLogprob(tokens[at]!, probabilities, tokens[at - 1], { top, temperature: 1, textOf }),
      ),
    );
    return found;
  }

  function textOf(token: number, previous: number | undefined): string {
    return detokenize([token], previous === undefined ? [] : [previous], true);
  }

  return async (request: CompletionsRequest, call: Call): Promise<CompletionResult> => {
    if (request.suffix)
      throw invalid('suffix', 'the embedded engine only continues a text and cannot fill in its middle');
    const { n, echo, logprobs, temperature } = request;
    const prompts = splitTextInputs('prompt', request.prompt).map((input) =>
      promptOf(input, request.max_tokens ?? defaultMaxTokens),
    );
    const [generated, returned] = [answersPerPrompt(request), n ?? 1];
    const isAsked = typeof logprobs === 'number';
    const isScored = isAsked || generated > returned;
    const isScoredPrompt = isAsked && Boolean(echo);
    const top = logprobs ?? 0;
    limitScored(request, prompts, generated);
    const firstSeed = requestSeed(request, random);

    async function answerOnce(prompt: RawPrompt, at: number, lease: SequenceLease): Promise<Made> {
      const emit = createEmitter(at, isAsked, call.onDelta);
      const tokens: ScoredToken[] = [];
      const answer = createAnswerText({
        family: null,
        stops: stopStrings(request),
        onDelta({ content }, certain = []) {
          const scored = certain.map(({ text, logprob }) => ({ ...logprob, text }));
          tokens.push(...scored);
          emit(content ?? '', scored);
        },
      });
      const before = isScoredPrompt ? await (prompt.scored ??= score(lease, prompt, top)) : [];
      if (echo) emit(prompt.text, before, open, '');
      const seed = choiceSeed(firstSeed, at % generated);
      const output: GenerationOutput =
        prompt.limit === 0
          ? { ending: { finish_reason: 'length' }, cachedTokens: 0, completionTokens: 0 }
          : await generateAnswer({
              lease,
              prompt: prompt.tokens,
              limit: prompt.limit,
              sampling: (sampled) => ({
                ...samplingOptions(request, vocabulary, { prompt: prompt.tokens, generated: sampled, seed }),
                yieldEogToken: isScored,
              }),
              decoder: createTextDecoder(detokenize),
              answer,
              logprobs: isScored ? { top, temperature: temperature ?? 1, textOf } : undefined,
              isEnd: vocabulary.isEnd,
            });
      emit('', [], output.ending);
      return {
        text: (echo ? prompt.text : '') + answer.raw,
        tokens: [...before, ...tokens],
        output: before.length > 0 ? { ...output, cachedTokens: 0 } : output,
      };
    }

    // At most one per sequence at a time, so that other requests get their turn.
    const places = prompts.flatMap((prompt) => Array<RawPrompt>(generated).fill(prompt)).entries();
    const all = await mapConcurrent(
      context.totalSequences,
      [...places],
      call.signal,
      ([at, prompt], signal) =>
        runner.run({ ...call, signal, prompt: prompt.tokens }, (lease) => answerOnce(prompt, at, lease)),
    );
    const chosen = prompts.flatMap((prompt, at) => {
      const answers = all.slice(at * generated, (at + 1) * generated);
      return likeliest(answers, returned, isScoredPrompt ? prompt.tokens.length : 0);
    });
    return {
      choices: chosen.map(({ text, tokens, output }, index) => ({
        index,
        text,
        logprobs: isAsked ? logprobsWriter()(tokens) : null,
        ...output.ending,
      })),
      usage: chatUsage(
        promptUsage(
          sum(prompts.map(({ tokens }) => tokens.length)),
          sum(prompts.map((_, at) => all[at * generated]!.output.cachedTokens)),
        ),
        sum(all.map(({ output }) => output.completionTokens)),
        0,
      ),
    };
  };
}

/** Returns a function that streams the pieces of one answer; it does nothing without a stream. */
function createEmitter(index: number, hasLogprobs: boolean, onDelta: Call['onDelta']) {
  const write = logprobsWriter();
  return (text: string, tokens: readonly ScoredToken[], ending = open, delta = text): void => {
    if (!onDelta) return;
    const logprobs = hasLogprobs && tokens.length > 0 ? write(tokens) : null;
    onDelta({ fields: { choices: [{ index, text, logprobs, ...ending }] }, delta });
  };
}

/** Limits the log probabilities of echoed prompts, which are in memory together. */
function limitScored({ echo, logprobs }: CompletionsRequest, prompts: readonly RawPrompt[], answers: number) {
  if (!echo || typeof logprobs !== 'number') return;
  const scored = sum(prompts.map(({ tokens }) => tokens.length)) * answers * (logprobs + 1);
  if (scored > maxScored)
    throw invalid(
      'echo',
      `with logprobs, the answers would have ${scored} log probabilities of prompts, and at most ${maxScored} are possible: request fewer answers, fewer alternatives or shorter prompts`,
    );
}

/** The `count` answers with the most likely tokens. @param before tokens in front that belong to the prompt */
function likeliest(choices: Made[], count: number, before: number): Made[] {
  if (choices.length === count) return choices;
  const score = ({ tokens }: Made): number => {
    const own = tokens.slice(before);
    return sum(own.map(({ logprob }) => logprob ?? 0)) / Math.max(1, own.length);
  };
  return choices.toSorted((a, b) => score(b) - score(a)).slice(0, count);
}

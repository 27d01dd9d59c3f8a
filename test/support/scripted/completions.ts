import { sum } from '../../../src/base/sum.ts';
import type { Engine, EngineCall, NativeCalls, NativeRequest } from '../../../src/engines/engines.ts';
import { type ScriptedAnswer, tokenize } from '../../../src/engines/scripted/answer.ts';
import type { ChatRequest } from '../../../src/wire/chat/chat.ts';
import { chatUsage, promptUsage } from '../../../src/wire/chat/usage.ts';
import { echoStripper } from '../../../src/wire/completions/strip-echo.ts';
import {
  type CompletionChoice,
  type CompletionPiece,
  type CompletionsRequest,
  defaultMaxTokens,
} from '../../../src/wire/completions/completions.ts';
import { logprobsWriter, type ScoredToken } from '../../../src/wire/completions/logprobs.ts';
import type { JsonBody } from '../../../src/wire/json/json-body.ts';
import { splitTextInputs } from '../../../src/wire/shared/text-inputs.ts';

/**
 * The completions format over chat answers: each prompt is answered like a user message.
 * @param generate takes the slot and the delay, and fails, for the last prompt
 */
export function createNativeCompletions(
  generate: Engine['generate'],
  answerFor: (request: ChatRequest) => ScriptedAnswer,
): NativeCalls {
  async function complete({ value }: JsonBody<NativeRequest>, call: EngineCall) {
    const request = value as CompletionsRequest;
    const texts = splitTextInputs('prompt', request.prompt).map(({ input }) => [input].flat().join(' '));
    const chats = texts.map((text) => asChat(request, text));
    const last = chats.at(-1)!;
    await generate({ value: last, text: JSON.stringify(last) }, call);
    const answers = chats.map((chat) => answerFor(chat));
    const n = request.n ?? 1;
    const choices = answers.flatMap((answer, at) =>
      Array.from({ length: n }, (_, k) => toChoice(request, texts[at]!, answer, at * n + k)),
    );
    const usage = chatUsage(
      promptUsage(texts.flatMap(tokenize).length, 0),
      sum(answers.map(({ tokens }) => tokens)) * n,
    );
    return { choices, usage };
  }

  return {
    async generate(_, request, call) {
      const { choices, usage } = await complete(request, call);
      return { text: '', fields: { choices }, usage };
    },
    async *stream(_, request, call) {
      const { choices, usage } = await complete(request, call);
      const added = echoStripper(request.value as unknown as CompletionsRequest);
      for (const piece of choices.flatMap(toPieces))
        yield [{ type: '', data: '', fields: { choices: [piece] }, delta: added(piece) }];
      yield [{ type: '', data: '', usage }];
    },
  };
}

function asChat({ model, stop, max_tokens }: CompletionsRequest, text: string): ChatRequest {
  const messages = [{ role: 'user' as const, content: text }];
  return { model, messages, stop: stop ?? null, max_tokens: max_tokens ?? defaultMaxTokens };
}

function toChoice(
  { echo, logprobs }: CompletionsRequest,
  prompt: string,
  { message, finish_reason, stop_reason }: ScriptedAnswer,
  index: number,
): CompletionChoice {
  const answer = message.content ?? '';
  return {
    index,
    text: echo ? prompt + answer : answer,
    logprobs: typeof logprobs === 'number' ? logprobsWriter()(scored(echo ? prompt : '', answer)) : null,
    finish_reason,
    ...(stop_reason !== undefined && { stop_reason }),
  };
}

/** The longer a token, the less likely. */
function scored(prompt: string, answer: string): ScoredToken[] {
  return [...tokenize(prompt), ...tokenize(answer)].map((token, at) => ({
    token,
    logprob: at === 0 && prompt !== '' ? null : -token.length / 8,
    top_logprobs: [],
  }));
}

/** A choice as a stream: its text, then the end. */
function toPieces({ finish_reason, stop_reason, ...rest }: CompletionChoice): CompletionPiece[] {
  const end = { index: rest.index, text: '', logprobs: null, finish_reason };
  return [
    { ...rest, finish_reason: null },
    { ...end, ...(stop_reason !== undefined && { stop_reason }) },
  ];
}

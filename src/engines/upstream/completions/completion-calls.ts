import { ApiError } from '../../../core/errors.ts';
import type { ChatUsage } from '../../../wire/chat/chat.ts';
import { estimateText } from '../../../wire/chat/request/estimate-prompt.ts';
import type {
  CompletionChoice,
  CompletionPiece,
  CompletionsRequest,
} from '../../../wire/completions/completions.ts';
import { estimateTextPrompt } from '../../../wire/completions/request.ts';
import { echoStripper } from '../../../wire/completions/strip-echo.ts';
import type { JsonBody } from '../../../wire/json/json-body.ts';
import type { NativeAnswer } from '../../../wire/prepared/prepared-request.ts';
import type { EngineCall, NativeEvent } from '../../engines.ts';
import { readChunks } from '../answer/chunk-stream.ts';
import { noLogprobs } from '../answer/logprobs.ts';
import { stopsOf } from '../answer/stop-cut.ts';
import { checkedUsage } from '../answer/usage.ts';
import type { JsonClient } from '../connection/json-client.ts';
import { unusable } from '../connection/parse-body.ts';
import type { Prober, ServerProfile } from '../probe/prober.ts';
import { completionsText } from '../request/request-text.ts';
import { addUsage, type ChoiceRequest, withMissing, wrongNumber } from '../request/split-choices.ts';
import { pieceCutter } from './cut-completion.ts';
import { type Plan, planFor } from './plan.ts';
import { type CompletionReadOptions, pieceReader, readCompletion } from './read-completion.ts';

type Part = ChoiceRequest<CompletionsRequest>;

const path = '/completions';

export function createCompletionCalls(client: JsonClient, prober: Pick<Prober, 'profile'>) {
  const bodyOf = ({ body }: Part, stream: boolean, server: ServerProfile, call: EngineCall) =>
    Buffer.from(
      completionsText(body, stream, { ...server.requestFor(call), members: server.completionsMembers }),
    );

  const readOptions = (
    { body: { value }, choices }: Part,
    { reading }: ServerProfile,
    { trace }: EngineCall,
  ): CompletionReadOptions => ({
    estimatePrompt: () => estimateTextPrompt(value),
    choices,
    alternatives: value.logprobs ?? 0,
    repairs: client.repairs,
    trace,
    ...reading,
  });

  async function completePart(part: Part, server: ServerProfile, call: EngineCall) {
    const options = readOptions(part, server, call);
    const { fields } = await client.post(path, bodyOf(part, false, server, call), call);
    const choices = readCompletion(fields, options);
    requireEcho(part, choices);
    if (wantsLogprobs(part, server) && choices.some(({ text, logprobs }) => text !== '' && !logprobs))
      throw noLogprobs();
    const estimateAnswer = () => estimateText(choices.map(echoStripper(part.body.value)).join(''));
    return {
      choices: choices.flatMap(cutterFor(part)),
      usage: checkedUsage(options.usageOf(fields), { ...options, estimateAnswer }),
    };
  }

  async function openPart(part: Part, server: ServerProfile, call: EngineCall) {
    const options = readOptions(part, server, call);
    const reply = await client.postStreaming(path, bodyOf(part, true, server, call), call);
    if (!reply.isStream) throw unusable('is not the requested stream');
    const { body, finish, expectEnd } = reply;
    const reader = { ...pieceReader(options), textOf: echoStripper(part.body.value) };
    return readChunks(body, { ...options, context: client.context(), finish, expectEnd }, reader);
  }

  return {
    async generate(request: JsonBody<CompletionsRequest>, call: EngineCall): Promise<NativeAnswer> {
      const server = prober.profile;
      const plan = planFor(request, server.traits);
      const choices: CompletionChoice[] = [];
      let usage: ChatUsage | undefined;
      for (const { part, received } of withMissing(plan.parts)) {
        const answer = await completePart(part, server, call);
        received(answer.choices.length);
        for (const choice of answer.choices) choices.push(placed(choice, part, plan));
        usage = addUsage(usage, answer.usage, part);
      }
      return { text: '', fields: { choices }, usage: usage! };
    },

    async *stream(request: JsonBody<CompletionsRequest>, call: EngineCall): AsyncGenerator<NativeEvent[]> {
      const server = prober.profile;
      const plan = planFor(request, server.traits);
      const begun = new Set<number>();
      let total: ChatUsage | undefined;
      for (const { part, received } of withMissing(plan.parts)) {
        const seen = new Set<number>();
        const deltaOf = echoStripper(part.body.value);
        const cut = cutterFor(part);
        const lacksLogprobs = missingLogprobs();
        for await (const chunks of await openPart(part, server, call)) {
          const pieces = chunks.flatMap(({ choices }) => choices);
          const usage = chunks.at(-1)?.usage;
          for (const { index } of pieces) seen.add(index);
          // A surplus choice would appear as the next one, or as one of the next prompt.
          if (pieces.some(({ index }) => index >= part.choices)) throw wrongNumber(seen.size, part.choices);
          if (usage) total = addUsage(total, usage, part);
          if (wantsLogprobs(part, server) && pieces.some((piece) => lacksLogprobs(piece))) throw noLogprobs();
          if (pieces.length > 0)
            yield pieces
              .flatMap(cut)
              .map((piece) => ({ ...toEvent(piece, part, plan, begun), delta: deltaOf(piece) }));
        }
        received(seen.size);
      }
      yield [{ type: '', data: '', usage: total! }];
    },
  };
}

/** True if log probabilities were requested and the server is sent the field. */
function wantsLogprobs({ body: { value } }: Part, { completionsMembers: members }: ServerProfile): boolean {
  return typeof value.logprobs === 'number' && members.has('logprobs');
}

/** Detects pieces that end a choice with text but without log probabilities. */
function missingLogprobs(): (piece: CompletionPiece) => boolean {
  const texts = new Map<number, { isEmpty: boolean; isScored: boolean }>();
  return ({ index, text, logprobs, finish_reason: finish }) => {
    const seen = texts.get(index) ?? { isEmpty: true, isScored: false };
    texts.set(index, seen);
    seen.isEmpty &&= text === '';
    seen.isScored ||= logprobs !== null;
    return finish !== null && !seen.isEmpty && !seen.isScored;
  };
}

/** Returns a function that cuts pieces at stop sequences; none with `echo`, whose prompt may contain them. */
function cutterFor({ body: { value } }: Part) {
  return pieceCutter(value.echo ? [] : stopsOf(value));
}

/** Returns a choice with its index in the whole answer, and after its prompt if that was requested. */
function placed<Piece extends CompletionPiece>(piece: Piece, { first }: Part, plan: Plan): Piece {
  const index = first + piece.index;
  return { ...piece, index, text: prefixAt(index, plan) + piece.text };
}

function prefixAt(index: number, { parts, prefixes }: Plan): string {
  if (!prefixes) return '';
  const all = parts.reduce((sum, { choices }) => sum + choices, 0);
  return prefixes[Math.floor((index * prefixes.length) / all)] ?? '';
}

function toEvent(piece: CompletionPiece, part: Part, plan: Plan, begun: Set<number>): NativeEvent {
  const index = part.first + piece.index;
  const isFirst = !begun.has(index);
  begun.add(index);
  const choice = isFirst ? placed(piece, part, plan) : { ...piece, index };
  return { type: '', data: '', fields: { choices: [choice] } };
}

/** Rejects an answer without the requested echo, which a server that ignores unknown fields would send. */
function requireEcho({ body: { value } }: Part, choices: readonly CompletionChoice[]): void {
  if (!value.echo) return;
  const isScored = (choice: CompletionChoice) =>
    typeof value.logprobs !== 'number' || choice.logprobs !== null;
  const hasPrompt = (text: string) => typeof value.prompt !== 'string' || text.startsWith(value.prompt);
  const isFiltered = ({ finish_reason: finish, text }: CompletionChoice) =>
    finish === 'content_filter' && text === '';
  if (choices.every((choice) => isFiltered(choice) || (isScored(choice) && hasPrompt(choice.text)))) return;
  const message = 'The server of this model does not return the prompt (echo) with its log probabilities.';
  throw new ApiError('request_refused', message, { param: 'echo' });
}

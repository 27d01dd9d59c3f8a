import { ApiError } from '../../../core/errors.ts';
import type { ChatUsage } from '../../../wire/chat/chat.ts';
import type {
  CompletionChoice,
  CompletionPiece,
  CompletionsRequest,
} from '../../../wire/completions/completions.ts';
import { echoStripper } from '../../../wire/completions/strip-echo.ts';
import { estimateText } from '../../../wire/chat/request/estimate-prompt.ts';
import { estimateTextPrompt } from '../../../wire/completions/request.ts';
import type { JsonBody } from '../../../wire/json/json-body.ts';
import type { NativeAnswer } from '../../../wire/prepared/prepared-request.ts';
import type { EngineCall, NativeEvent } from '../../engines.ts';
import { type ChoiceRequest as AskOf, unexpected, withMissing, withUsage } from '../request/split-choices.ts';
import { readChunks } from '../answer/chunk-stream.ts';
import type { JsonClient } from '../connection/json-client.ts';
import { unusable } from '../connection/parse-body.ts';
import type { ServerProfile, Prober } from '../probe/prober.ts';
import { completionsText } from '../request/request-text.ts';
import { checkedUsage } from '../answer/usage.ts';
import { noLogprobs } from '../answer/require-logprobs.ts';
import { stopsOf } from '../answer/stop-cut.ts';
import { pieceCutter } from './cut-completion.ts';
import { planOf, type Plan } from './plan.ts';
import { pieceReader, readCompletion, type Reading } from './read-completion.ts';

type Ask = AskOf<CompletionsRequest>;

const path = '/completions';

/** What a server is asked to go on with. */
export function createCompletionCalls(exchanges: JsonClient, profile: Pick<Prober, 'now'>) {
  const bodyOf = (
    { body }: Ask,
    stream: boolean,
    { request: wording, completionsMembers: members }: ServerProfile,
  ) => Buffer.from(completionsText(body, stream, { ...wording, members }));

  const readingOf = (
    { body: { value }, wanted }: Ask,
    { reading }: ServerProfile,
    { trace: known }: EngineCall,
  ): Reading => ({
    asked: () => estimateTextPrompt(value),
    wanted,
    alternatives: value.logprobs ?? 0,
    repairs: exchanges.repairs,
    known,
    ...reading,
  });

  async function once(ask: Ask, server: ServerProfile, call: EngineCall) {
    const reading = readingOf(ask, server, call);
    const { fields } = await exchanges.ask(path, bodyOf(ask, false, server), call.signal);
    const choices = readCompletion(fields, reading);
    requireScores(ask, choices);
    if (wantsScores(ask, server) && choices.some(({ text, logprobs }) => text !== '' && !logprobs))
      throw noLogprobs();
    const answered = () => estimateText(choices.map(echoStripper(ask.body.value)).join(''));
    return {
      choices: choices.flatMap(cutterOf(ask)),
      usage: checkedUsage(reading.usageOf(fields), { ...reading, answered }),
    };
  }

  async function opened(ask: Ask, server: ServerProfile, call: EngineCall) {
    const reading = readingOf(ask, server, call);
    const reply = await exchanges.open(path, bodyOf(ask, true, server), call.signal);
    if (!reply.isStream) throw unusable('is not the stream that was asked for');
    const { body, finish, expectEnd: hurry } = reply;
    const pieces = { ...pieceReader(reading), said: echoStripper(ask.body.value) };
    return readChunks(body, { ...reading, context: exchanges.context(), finish, expectEnd: hurry }, pieces);
  }

  return {
    async ask(request: JsonBody<CompletionsRequest>, call: EngineCall): Promise<NativeAnswer> {
      const server = profile.now;
      const plan = planOf(request, server.traits);
      const choices: CompletionChoice[] = [];
      let usage: ChatUsage | undefined;
      for (const { ask, came } of withMissing(plan.asks)) {
        const told = await once(ask, server, call);
        came(told.choices.length);
        for (const choice of told.choices) choices.push(placed(choice, ask, plan));
        usage = withUsage(usage, told.usage, ask);
      }
      return { text: '', fields: { choices }, usage: usage! };
    },

    async *stream(request: JsonBody<CompletionsRequest>, call: EngineCall): AsyncGenerator<NativeEvent[]> {
      const server = profile.now;
      const plan = planOf(request, server.traits);
      const begun = new Set<number>();
      let usage: ChatUsage | undefined;
      for (const { ask, came } of withMissing(plan.asks)) {
        const seen = new Set<number>();
        const said = echoStripper(ask.body.value);
        const cut = cutterOf(ask);
        const unscored = unscoredAtEnd();
        for await (const chunks of await opened(ask, server, call)) {
          const pieces = chunks.flatMap(({ choices }) => choices);
          const told = chunks.at(-1)?.usage;
          for (const { index } of pieces) seen.add(index);
          // What is beyond would be told as the next choice, or of the next prompt.
          if (pieces.some(({ index }) => index >= ask.wanted)) throw unexpected(seen.size, ask.wanted);
          if (told) usage = withUsage(usage, told, ask);
          if (wantsScores(ask, server) && pieces.some((piece) => unscored(piece))) throw noLogprobs();
          if (pieces.length > 0)
            yield pieces
              .flatMap(cut)
              .map((piece) => ({ ...eventOf(piece, ask, plan, begun), delta: said(piece) }));
        }
        came(seen.size);
      }
      yield [{ type: '', data: '', usage: usage! }];
    },
  };
}

/** True if log probabilities were requested and the server is sent the field. */
function wantsScores({ body: { value } }: Ask, { completionsMembers: members }: ServerProfile): boolean {
  return typeof value.logprobs === 'number' && members.has('logprobs');
}

/** True if a piece ends a choice with text but without log probabilities. */
function unscoredAtEnd(): (piece: CompletionPiece) => boolean {
  const texts = new Map<number, { isEmpty: boolean; isScored: boolean }>();
  return ({ index, text, logprobs, finish_reason: finish }) => {
    const seen = texts.get(index) ?? { isEmpty: true, isScored: false };
    texts.set(index, seen);
    seen.isEmpty &&= text === '';
    seen.isScored ||= logprobs !== null;
    return finish !== null && !seen.isEmpty && !seen.isScored;
  };
}

/** Stop sequences do not end an echoed prompt. */
function cutterOf({ body: { value } }: Ask) {
  return pieceCutter(value.echo ? [] : stopsOf(value));
}

/** A choice under its number in the whole answer, behind its prompt where that was asked for. */
function placed<Piece extends CompletionPiece>(piece: Piece, { first }: Ask, plan: Plan): Piece {
  const index = first + piece.index;
  return { ...piece, index, text: prefixOf(index, plan) + piece.text };
}

function prefixOf(index: number, { asks, prefixes }: Plan): string {
  if (!prefixes) return '';
  const all = asks.reduce((sum, { wanted }) => sum + wanted, 0);
  return prefixes[Math.floor((index * prefixes.length) / all)] ?? '';
}

function eventOf(piece: CompletionPiece, ask: Ask, plan: Plan, begun: Set<number>): NativeEvent {
  const index = ask.first + piece.index;
  const isFirst = !begun.has(index);
  begun.add(index);
  const choice = isFirst ? placed(piece, ask, plan) : { ...piece, index };
  return { type: '', data: '', fields: { choices: [choice] } };
}

/** A server that ignores what it does not know would have said nothing of the prompt, and that is not a score. */
function requireScores({ body: { value } }: Ask, choices: readonly CompletionChoice[]): void {
  if (!value.echo) return;
  const isScored = (choice: CompletionChoice) =>
    typeof value.logprobs !== 'number' || choice.logprobs !== null;
  const begins = (text: string) => typeof value.prompt !== 'string' || text.startsWith(value.prompt);
  const isFiltered = ({ finish_reason: finish, text }: CompletionChoice) =>
    finish === 'content_filter' && text === '';
  if (choices.every((choice) => isFiltered(choice) || (isScored(choice) && begins(choice.text)))) return;
  throw new ApiError(
    'request_refused',
    'The server of this model does not tell the prompt (echo) with its log probabilities.',
    {
      param: 'echo',
    },
  );
}

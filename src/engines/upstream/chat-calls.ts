import type { Clock } from '../../base/clock.ts';
import type { ChatChunk, ChatChunks, ChatRequest, ChatResponse } from '../../wire/chat/chat.ts';
import { estimatePrompt } from '../../wire/chat/request/estimate-prompt.ts';
import { toChunks } from '../../wire/chat/stream/to-chunks.ts';
import { foldChunks } from '../../wire/chat/stream/fold-chunks.ts';
import type { JsonBody } from '../../wire/json/json-body.ts';
import type { Engine, EngineCall } from '../engines.ts';
import type { ReadOptions } from './answer/chat-response.ts';
import { cutChunks, cutResponse } from './answer/cut-chat.ts';
import { eachAlone, isApart, withMissing, withUsage } from './request/split-choices.ts';
import { requireLogprobs, requireLogprobsOf } from './answer/require-logprobs.ts';
import { stopsOf } from './answer/stop-cut.ts';
import type { JsonClient } from './connection/json-client.ts';
import { createEmbeddingOnlyCheck } from './probe/embedding-only.ts';
import { withShortNames } from './request/short-names.ts';
import type { Prober } from './probe/prober.ts';
import type { SystemPlacement } from './systems/system-placement.ts';

export interface ChatCallsDeps {
  exchanges: JsonClient;
  profile: Prober;
  systems: SystemPlacement;
  clock: Clock;
  newCallId: () => string;
}

/** Chat completions of a server, whole and in pieces, whatever format it speaks. */
export function createChatCalls({
  exchanges,
  profile,
  systems,
  clock,
  newCallId,
}: ChatCallsDeps): Pick<Engine, 'generate' | 'stream'> {
  const asking = createEmbeddingOnlyCheck(clock, () => profile.makesEmbedding());

  const readingOf = (request: JsonBody<ChatRequest>, { trace: known }: EngineCall): ReadOptions => ({
    asked: () => estimatePrompt(request.value),
    wanted: request.value.n ?? 1,
    alternatives: request.value.top_logprobs ?? 0,
    newCallId,
    repairs: exchanges.repairs,
    known,
    ...profile.now.reading,
  });

  /** The checks and cuts of an answer. */
  function checksOf({ value }: JsonBody<ChatRequest>) {
    const stops = stopsOf(value);
    const { traits, request: wording } = profile.now;
    // Servers that are not sent the field are documented.
    const isScored = value.logprobs === true && !traits.dialect && wording.members.has('logprobs');
    return {
      whole: (answer: ChatResponse) => cutResponse(isScored ? requireLogprobs(answer) : answer, stops),
      inPieces(lists: ChatChunks) {
        const scored = isScored ? requireLogprobsOf(lists) : lists;
        return stops.length > 0 ? cutChunks(scored, stops) : scored;
      },
    };
  }

  async function complete(request: JsonBody<ChatRequest>, call: EngineCall): Promise<ChatResponse> {
    const { signal } = call;
    if (profile.now.traits.asStream) return foldChunks(stream(request, call));
    const { dialect, chatPath, request: wording } = profile.now;
    const body = Buffer.from(dialect.text(request, false, wording));
    const reading = readingOf(request, call);
    const told = checksOf(request);
    request.release?.();
    const { fields, bytes } = await systems.asking(body, (sent) =>
      asking(() => exchanges.ask(chatPath, sent, signal), signal),
    );
    return told.whole(dialect.read(fields, bytes, reading));
  }

  async function* stream(request: JsonBody<ChatRequest>, call: EngineCall): ChatChunks {
    const { signal } = call;
    const { dialect, chatPath, request: wording } = profile.now;
    const asked = Buffer.from(dialect.text(request, true, wording));
    const reading = readingOf(request, call);
    const told = checksOf(request);
    request.release?.();
    async function begin(sent: Buffer) {
      const reply = await asking(() => exchanges.open(chatPath, sent, signal), signal);
      if (!reply.isStream)
        return [[...toChunks(told.whole(dialect.read(reply.fields, reply.bytes, reading)))]];
      const { body, finish, expectEnd: hurry } = reply;
      const read = dialect.readStream(body, {
        ...reading,
        context: exchanges.context(),
        finish,
        expectEnd: hurry,
      });
      return begun(told.inPieces(read));
    }
    yield* await systems.asking(asked, begin);
  }

  function* asksOf(body: JsonBody<ChatRequest>) {
    const wanted = body.value.n ?? 1;
    const whole = { body, first: 0, wanted, isRepeat: false };
    const apart = isApart(body.value, profile.now.traits.splitChoices);
    yield* withMissing(apart ? eachAlone(body, 0, wanted) : [whole]);
  }

  async function completeAll(request: JsonBody<ChatRequest>, call: EngineCall): Promise<ChatResponse> {
    let answer: ChatResponse | undefined;
    for (const { ask, came } of asksOf(request)) {
      const told = await complete(ask.body, call);
      const choices = told.choices.slice(0, ask.wanted);
      came(choices.length);
      for (const [at, choice] of choices.entries()) choice.index = ask.first + at;
      if (answer) choices.unshift(...answer.choices);
      answer = { ...(answer ?? told), choices, usage: withUsage(answer?.usage, told.usage, ask) };
    }
    return answer!;
  }

  /** The usage of all together at the end. */
  async function* streamAll(request: JsonBody<ChatRequest>, call: EngineCall): ChatChunks {
    let end: ChatChunk | undefined;
    for (const { ask, came } of asksOf(request)) {
      /** Where each choice stands; what nobody asked for is left out, as of answers that come whole. */
      const places = new Map<number, number>();
      const isWanted = ({ index }: { index: number }) => {
        if (!places.has(index) && places.size < ask.wanted) places.set(index, ask.first + places.size);
        return places.has(index);
      };
      for await (const chunks of stream(ask.body, call)) {
        for (const chunk of chunks) {
          if (chunk.usage) end = { ...chunk, usage: withUsage(end?.usage, chunk.usage, ask) };
          chunk.choices = chunk.choices.filter(isWanted);
          for (const choice of chunk.choices) choice.index = places.get(choice.index)!;
        }
        yield chunks.filter(({ usage, choices }) => !usage && choices.length > 0);
      }
      came(places.size);
    }
    if (end) yield [end];
  }

  const isOne = ({ value }: JsonBody<ChatRequest>) => (value.n ?? 1) === 1;

  const shortened = (request: JsonBody<ChatRequest>) =>
    profile.now.traits.longToolNames ? undefined : withShortNames(request);

  return {
    async generate(request, call) {
      const names = shortened(request);
      if (!names) return (isOne(request) ? complete : completeAll)(request, call);
      return names.restore(await (isOne(request) ? complete : completeAll)(names.request, call));
    },
    stream(request, call) {
      const names = shortened(request);
      const lists = (isOne(request) ? stream : streamAll)(names?.request ?? request, call);
      return names?.restoreAll(lists) ?? lists;
    },
  };
}

/** A stream once its first chunks are there, which may be an error instead. */
async function begun<T>(chunks: AsyncIterable<T>): Promise<AsyncIterable<T>> {
  const rest = chunks[Symbol.asyncIterator]();
  let first: IteratorResult<T> | undefined = await rest.next();
  const next = () => {
    const told = first ?? rest.next();
    first = undefined;
    return Promise.resolve(told);
  };
  const end = { done: true, value: undefined } as const;
  const leave = async () => (await rest.return?.()) ?? end;
  return { [Symbol.asyncIterator]: () => ({ next, return: leave }) };
}

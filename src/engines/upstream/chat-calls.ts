import type { Clock } from '../../base/clock.ts';
import type { ChatChunk, ChatChunks, ChatRequest, ChatResponse } from '../../wire/chat/chat.ts';
import { estimatePrompt } from '../../wire/chat/request/estimate-prompt.ts';
import { foldChunks } from '../../wire/chat/stream/fold-chunks.ts';
import { toChunks } from '../../wire/chat/stream/to-chunks.ts';
import type { JsonBody } from '../../wire/json/json-body.ts';
import type { Engine, EngineCall } from '../engines.ts';
import type { ReadOptions } from './answer/chat-response.ts';
import { cutChunks, cutResponse } from './answer/cut-chat.ts';
import { requireLogprobs, requireStreamedLogprobs } from './answer/logprobs.ts';
import { stopsOf } from './answer/stop-cut.ts';
import type { JsonClient } from './connection/json-client.ts';
import { createEmbeddingOnlyCheck } from './probe/embedding-only.ts';
import type { Prober } from './probe/prober.ts';
import { withShortNames } from './request/short-names.ts';
import { addUsage, eachAlone, isSplit, withMissing } from './request/split-choices.ts';
import type { SystemPlacement } from './systems/system-placement.ts';

/** Chat completions of a server in any dialect, whole and streamed. */
export function createChatCalls(
  client: JsonClient,
  prober: Prober,
  systems: SystemPlacement,
  clock: Clock,
  newCallId: () => string,
): Pick<Engine, 'generate' | 'stream'> {
  const checked = createEmbeddingOnlyCheck(clock, () => prober.makesEmbeddings());

  const readOptions = (request: JsonBody<ChatRequest>, { trace }: EngineCall): ReadOptions => ({
    estimatePrompt: () => estimatePrompt(request.value),
    choices: request.value.n ?? 1,
    alternatives: request.value.top_logprobs ?? 0,
    newCallId,
    repairs: client.repairs,
    trace,
    ...prober.profile.reading,
  });

  /** Checks and cuts of an answer. */
  function checksFor({ value }: JsonBody<ChatRequest>) {
    const stops = stopsOf(value);
    const { traits, request } = prober.profile;
    // Fields that a server is not sent are documented.
    const isScored = value.logprobs === true && !traits.dialect && request.members.has('logprobs');
    return {
      whole: (answer: ChatResponse) => cutResponse(isScored ? requireLogprobs(answer) : answer, stops),
      streamed(lists: ChatChunks) {
        const scored = isScored ? requireStreamedLogprobs(lists) : lists;
        return stops.length > 0 ? cutChunks(scored, stops) : scored;
      },
    };
  }

  async function complete(request: JsonBody<ChatRequest>, call: EngineCall): Promise<ChatResponse> {
    const { signal } = call;
    if (prober.profile.traits.asStream) return foldChunks(stream(request, call));
    const { dialect, chatPath } = prober.profile;
    const profile = prober.profile.requestFor(call);
    const options = readOptions(request, call);
    const checks = checksFor(request);
    const { fields, bytes } = await systems.send(
      (place) => dialect.text(request, false, profile, place),
      (body) => {
        request.release?.();
        return checked(() => client.post(chatPath, body, call), signal);
      },
    );
    return checks.whole(dialect.read(fields, bytes, options));
  }

  async function* stream(request: JsonBody<ChatRequest>, call: EngineCall): ChatChunks {
    const { signal } = call;
    const { dialect, chatPath } = prober.profile;
    const profile = prober.profile.requestFor(call);
    const options = readOptions(request, call);
    const checks = checksFor(request);
    yield* await systems.send(
      (place) => dialect.text(request, true, profile, place),
      async (sent) => {
        request.release?.();
        const reply = await checked(() => client.postStreaming(chatPath, sent, call), signal);
        if (!reply.isStream)
          return [[...toChunks(checks.whole(dialect.read(reply.fields, reply.bytes, options)))]];
        const { body, finish, expectEnd } = reply;
        const streamOptions = { ...options, context: client.context(), finish, expectEnd };
        return withFirst(checks.streamed(dialect.readStream(body, streamOptions)));
      },
    );
  }

  function* requestsFor(body: JsonBody<ChatRequest>) {
    const choices = body.value.n ?? 1;
    const whole = { body, first: 0, choices, isRepeat: false };
    const isApart = isSplit(body.value, prober.profile.traits.splitChoices);
    yield* withMissing(isApart ? eachAlone(body, 0, choices) : [whole]);
  }

  async function completeAll(request: JsonBody<ChatRequest>, call: EngineCall): Promise<ChatResponse> {
    let answer: ChatResponse | undefined;
    for (const { part, received } of requestsFor(request)) {
      const response = await complete(part.body, call);
      const choices = response.choices.slice(0, part.choices);
      received(choices.length);
      for (const [at, choice] of choices.entries()) choice.index = part.first + at;
      if (answer) choices.unshift(...answer.choices);
      answer = { ...(answer ?? response), choices, usage: addUsage(answer?.usage, response.usage, part) };
    }
    return answer!;
  }

  /** Streams several choices; the total usage comes at the end. */
  async function* streamAll(request: JsonBody<ChatRequest>, call: EngineCall): ChatChunks {
    let end: ChatChunk | undefined;
    for (const { part, received } of requestsFor(request)) {
      /** Index of each of the server's choices in the whole answer; surplus choices are dropped. */
      const indexes = new Map<number, number>();
      const isRequested = ({ index }: { index: number }) => {
        if (!indexes.has(index) && indexes.size < part.choices) indexes.set(index, part.first + indexes.size);
        return indexes.has(index);
      };
      for await (const chunks of stream(part.body, call)) {
        for (const chunk of chunks) {
          if (chunk.usage) end = { ...chunk, usage: addUsage(end?.usage, chunk.usage, part) };
          chunk.choices = chunk.choices.filter(isRequested);
          for (const choice of chunk.choices) choice.index = indexes.get(choice.index)!;
        }
        yield chunks.filter(({ usage, choices }) => !usage && choices.length > 0);
      }
      received(indexes.size);
    }
    if (end) yield [end];
  }

  const isOne = ({ value }: JsonBody<ChatRequest>) => (value.n ?? 1) === 1;

  const shortNames = (request: JsonBody<ChatRequest>) =>
    prober.profile.traits.longToolNames ? undefined : withShortNames(request);

  return {
    async generate(request, call) {
      const names = shortNames(request);
      const answer = await (isOne(request) ? complete : completeAll)(names?.request ?? request, call);
      return names?.restore(answer) ?? answer;
    },
    stream(request, call) {
      const names = shortNames(request);
      const lists = (isOne(request) ? stream : streamAll)(names?.request ?? request, call);
      return names?.restoreAll(lists) ?? lists;
    },
  };
}

/** Waits for the first item of a stream, so that its error rejects this call. */
async function withFirst<T>(chunks: AsyncIterable<T>): Promise<AsyncIterable<T>> {
  const rest = chunks[Symbol.asyncIterator]();
  let first: IteratorResult<T> | undefined = await rest.next();
  const next = () => {
    const result = first ?? rest.next();
    first = undefined;
    return Promise.resolve(result);
  };
  const end = { done: true, value: undefined } as const;
  const leave = async () => (await rest.return?.()) ?? end;
  return { [Symbol.asyncIterator]: () => ({ next, return: leave }) };
}

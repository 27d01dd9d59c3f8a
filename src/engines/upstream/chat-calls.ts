import type { ChatChunks, ChatRequest, ChatResponse } from '../../wire/chat/chat.ts';
import { estimatePrompt } from '../../wire/chat/request/estimate-prompt.ts';
import { chunksOf } from '../../wire/chat/stream/chunks-of.ts';
import { foldChunks } from '../../wire/chat/stream/fold-chunks.ts';
import type { JsonBody } from '../../wire/json/json-body.ts';
import type { Engine } from '../engines.ts';
import type { ReadOptions } from './answer/chat-response.ts';
import { allChoices, streamAllChoices } from './answer/choices.ts';
import type { Exchanges } from './connection/exchanges.ts';
import type { createChatAsking } from './probe/chat-asking.ts';
import type { Profile } from './probe/profile.ts';

export interface ChatCallsParts {
  exchanges: Exchanges;
  profile: Profile;
  asking: ReturnType<typeof createChatAsking>;
  newCallId: () => string;
}

/** Chat completions of a server, whole and in pieces, whatever format it speaks. */
export function createChatCalls({
  exchanges,
  profile,
  asking,
  newCallId,
}: ChatCallsParts): Pick<Engine, 'generate' | 'stream'> {
  const readingOf = ({ value }: JsonBody<ChatRequest>): ReadOptions => ({
    asked: () => estimatePrompt(value),
    alternatives: value.top_logprobs ?? 0,
    newCallId,
    repairs: exchanges.repairs,
    ...profile.now.reading,
  });

  async function complete(request: JsonBody<ChatRequest>, signal: AbortSignal): Promise<ChatResponse> {
    if (profile.now.traits.asStream) return foldChunks(stream(request, signal));
    const { dialect, chatPath, wording } = profile.now;
    const text = dialect.text(request, false, wording);
    const once = () => exchanges.ask(chatPath, text, signal);
    const { fields, bytes } = await asking(once, signal);
    return dialect.read(fields, bytes, readingOf(request));
  }

  async function* stream(request: JsonBody<ChatRequest>, signal: AbortSignal): ChatChunks {
    const { dialect, chatPath, wording } = profile.now;
    const text = dialect.text(request, true, wording);
    const reply = await asking(() => exchanges.open(chatPath, text, signal), signal);
    const reading = readingOf(request);
    if (reply.isStream) {
      const { body, finish, hurry } = reply;
      yield* dialect.readStream(body, { ...reading, context: exchanges.context(), finish, hurry });
    } else yield [...chunksOf(dialect.read(reply.fields, reply.bytes, reading))];
  }

  const apart = () => profile.now.traits.choicesApart;

  return {
    async generate(request, { signal }) {
      const once = (each: JsonBody<ChatRequest>) => complete(each, signal);
      if ((request.value.n ?? 1) === 1) return { body: await once(request) };
      return { body: await allChoices(request, once, apart()) };
    },

    stream(request, { signal }) {
      const once = (each: JsonBody<ChatRequest>) => stream(each, signal);
      if ((request.value.n ?? 1) === 1) return once(request);
      return streamAllChoices(request, once, apart());
    },
  };
}

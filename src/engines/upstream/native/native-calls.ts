import type { EventSourceMessage } from 'eventsource-parser';
import { estimateText } from '../../../wire/chat/request/estimate-prompt.ts';
import { editMembers, type Edits } from '../../../wire/json/edit-members.ts';
import type { JsonBody } from '../../../wire/json/json-body.ts';
import type { CompletionsRequest } from '../../../wire/completions/completions.ts';
import type { EngineCall, NativeCalls, NativeEvent, NativeRequest } from '../../engines.ts';
import { createCompletionCalls } from '../completions/completion-calls.ts';
import type { Profile } from '../probe/profile.ts';
import type { Exchanges } from '../connection/exchanges.ts';
import { unusable } from '../answer/parse-body.ts';
import { readEach } from '../answer/sse-events.ts';
import type { NativeFormat, NativeReader, Reading } from './native-format.ts';
import { nativeMessages } from './native-messages.ts';
import { nativeResponses } from './native-responses.ts';

const formats = { messages: nativeMessages, responses: nativeResponses };

/** What a server is asked in the words of clients. */
export function createNativeCalls(exchanges: Exchanges, profile: Pick<Profile, 'now'>): NativeCalls {
  const completions = createCompletionCalls(exchanges, profile);
  return {
    async ask(op, request, call) {
      if (op === 'completions') return completions.ask(request as JsonBody<CompletionsRequest>, call);
      const { signal, known } = call;
      const format = formats[op];
      const text = textOf(request, format, profile.now.wording);
      const { fields, bytes } = await exchanges.ask(format.path, text, signal);
      return { text: bytes.toString(), fields, usage: format.usageOf(fields, readingOf(request, known)) };
    },

    async *stream(op, request, call) {
      if (op === 'completions')
        return yield* completions.stream(request as JsonBody<CompletionsRequest>, call);
      const { signal, known } = call;
      const format = formats[op];
      const reply = await exchanges.open(format.path, textOf(request, format, profile.now.wording), signal);
      if (!reply.isStream) throw unusable('is not the stream that was asked for');
      const reader = format.createReader({ ...readingOf(request, known), context: exchanges.context() });
      yield* readStream(reply.body, reader, reply.finish);
    },
  };

  function readingOf({ text }: JsonBody<NativeRequest>, known: EngineCall['known']): Reading {
    return { asked: () => estimateText(text), repairs: exchanges.repairs, known };
  }
}

/** @throws ApiError `invalid_upstream_response` when the stream ends before the answer did; what an error in it means */
async function* readStream(
  bytes: AsyncIterable<Uint8Array>,
  reader: NativeReader,
  finish: () => void,
): AsyncGenerator<NativeEvent[]> {
  let isOver = false;
  function read(event: EventSourceMessage): NativeEvent {
    const told = reader.read(event);
    isOver = told.usage !== undefined;
    if (isOver) finish();
    return told;
  }
  yield* readEach(bytes, read, () => isOver);
  if (!isOver) throw unusable('ended in the middle');
}

/** The text to send: the client's bytes with the server's name of the model, without what does not go on. */
function textOf(
  { value, text }: JsonBody<NativeRequest>,
  { members }: NativeFormat,
  { model, passThrough }: { model: string; passThrough: readonly string[] },
): string {
  const edits: Edits = new Map([['model', JSON.stringify(model)]]);
  for (const name in value) if (!members.has(name) && !passThrough.includes(name)) edits.set(name, null);
  return editMembers(text, edits);
}

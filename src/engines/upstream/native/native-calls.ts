import { estimateText } from '../../../wire/chat/request/estimate-prompt.ts';
import { editMembers, type Edits } from '../../../wire/json/edit-members.ts';
import type { JsonBody } from '../../../wire/json/json-body.ts';
import type { CompletionsRequest } from '../../../wire/completions/completions.ts';
import type { NativeCalls, NativeEvent, NativeRequest } from '../../engines.ts';
import type { CompletionCalls } from '../completions/completion-calls.ts';
import type { Exchanges } from '../connection/exchanges.ts';
import { unusable } from '../answer/parse-body.ts';
import type { Repairs } from '../answer/repairs.ts';
import { readEvents } from '../answer/sse-events.ts';
import type { NativeFormat, NativeReader, Reading } from './native-format.ts';
import { nativeMessages } from './native-messages.ts';
import { nativeResponses } from './native-responses.ts';

const formats = { messages: nativeMessages, responses: nativeResponses };

/** What a server is asked in the words of clients. */
export function createNativeCalls(
  exchanges: Exchanges,
  wording: () => { model: string; passThrough: readonly string[] },
  completions: CompletionCalls,
): NativeCalls {
  return {
    async ask(op, request, call) {
      if (op === 'completions') return completions.ask(request as JsonBody<CompletionsRequest>, call);
      const { signal } = call;
      const format = formats[op];
      const reading = readingOf(request);
      const text = textOf(request, format, wording());
      const { fields, bytes } = await exchanges.ask(format.path, text, signal, reading.repairs);
      const usage = format.usageOf(fields, reading);
      exchanges.noteRepairs(reading.repairs);
      return { text: bytes.toString(), fields, usage };
    },

    async *stream(op, request, call) {
      if (op === 'completions')
        return yield* completions.stream(request as JsonBody<CompletionsRequest>, call);
      const { signal } = call;
      const format = formats[op];
      const reading = readingOf(request);
      const reply = await exchanges.open(
        format.path,
        textOf(request, format, wording()),
        signal,
        reading.repairs,
      );
      if (!reply.isStream) throw unusable('is not the stream that was asked for');
      const reader = format.createReader({ ...reading, context: exchanges.context() });
      yield* readStream(reply.body, reader, reply.finish);
      exchanges.noteRepairs(reading.repairs);
    },
  };
}

/** @throws ApiError `invalid_upstream_response` when the stream ends before the answer did; what an error in it means */
async function* readStream(
  bytes: AsyncIterable<Uint8Array>,
  reader: NativeReader,
  finish: () => void,
): AsyncGenerator<NativeEvent[]> {
  for await (const events of readEvents(bytes)) {
    const ready: NativeEvent[] = [];
    try {
      for (const event of events) {
        ready.push(reader.read(event));
        if (ready.at(-1)?.usage) break;
      }
    } finally {
      // What came before a fault is told before it.
      if (ready.length > 0) yield ready;
    }
    if (!ready.at(-1)?.usage) continue;
    finish();
    return;
  }
  throw unusable('ended in the middle');
}

function readingOf({ text }: JsonBody<NativeRequest>): Reading & { repairs: Repairs } {
  return { asked: () => estimateText(text), repairs: new Set() };
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

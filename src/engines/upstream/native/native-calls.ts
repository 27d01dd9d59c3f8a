import type { EventSourceMessage } from 'eventsource-parser';
import { estimateText, tokensOfBytes } from '../../../wire/chat/request/estimate-prompt.ts';
import { editMembers, type Edits } from '../../../wire/json/edit-members.ts';
import type { JsonBody } from '../../../wire/json/json-body.ts';
import type { CompletionsRequest } from '../../../wire/completions/completions.ts';
import type { EngineCall, NativeCalls, NativeEvent, NativeRequest } from '../../engines.ts';
import { createCompletionCalls } from '../completions/completion-calls.ts';
import type { Prober } from '../probe/prober.ts';
import type { JsonClient } from '../connection/json-client.ts';
import type { RefusalContext } from '../connection/status-errors.ts';
import { fieldsOf, isObject, parseOrUndefined } from '../../../base/fields.ts';
import { unusable } from '../connection/parse-body.ts';
import { readEach } from '../answer/sse-events.ts';
import { errorInStream } from '../connection/stream-errors.ts';
import { checkedUsage, type Counting } from '../answer/usage.ts';
import type { RequestProfile } from '../request/request-text.ts';
import type { NativeFormat } from './native-format.ts';
import { nativeMessages } from './native-messages.ts';
import { nativeResponses } from './native-responses.ts';

const formats: Record<'messages' | 'responses', NativeFormat> = {
  messages: nativeMessages,
  responses: nativeResponses,
};

/** What a server is asked in the words of clients. */
export function createNativeCalls(exchanges: JsonClient, profile: Pick<Prober, 'now'>): NativeCalls {
  const completions = createCompletionCalls(exchanges, profile);
  return {
    async generate(op, request, call) {
      if (op === 'completions') return completions.ask(request as JsonBody<CompletionsRequest>, call);
      const { signal, trace: known } = call;
      const format: NativeFormat = formats[op];
      const { request: wording } = profile.now;
      const body = bodyOf(request, format, wording);
      const headers = headersOf(request, format, wording, call);
      request.release?.();
      const { fields, bytes } = await exchanges.ask(format.path, body, signal, headers);
      const { usage, said } = format.read(fields);
      const answered = () => estimateText(said);
      const counted = checkedUsage(usage, { ...readingOf(request, known), answered });
      const text = bytes.toString();
      return { text: format.corrected?.(fields, text) ?? text, fields, usage: counted };
    },
    async *stream(op, request, call) {
      if (op === 'completions')
        return yield* completions.stream(request as JsonBody<CompletionsRequest>, call);
      const { signal, trace: known } = call;
      const format: NativeFormat = formats[op];
      const { request: wording } = profile.now;
      const asked = bodyOf(request, format, wording);
      const headers = headersOf(request, format, wording, call);
      request.release?.();
      const reply = await exchanges.open(format.path, asked, signal, headers);
      if (!reply.isStream) throw unusable('is not the stream that was asked for');
      const { body, finish } = reply;
      const reading = readingOf(request, known);
      const context = exchanges.context();
      const readEvent = format.createReader(context);
      let saidBytes = 0;
      let isOver = false;
      function read(event: EventSourceMessage): NativeEvent | null {
        const named = withName(event, context);
        if (!named) return null;
        const told = readEvent(named);
        if (!told) return null;
        const { begins, ends, delta: said = '' } = told;
        saidBytes += Buffer.byteLength(said);
        if (begins) {
          const atFirst = { ...reading, answered: () => 0, known: undefined };
          told.promptTokens = checkedUsage(begins, atFirst).prompt_tokens;
        }
        if (ends) {
          told.usage = checkedUsage(ends, { ...reading, answered: () => tokensOfBytes(saidBytes) });
          isOver = true;
          finish();
        }
        return told;
      }
      yield* readEach(body, read, () => isOver);
      if (!isOver) throw unusable('ended in the middle');
    },
  };
  function readingOf(request: JsonBody<NativeRequest>, known: EngineCall['trace']): Counting {
    return { asked: () => estimateText(request.text), repairs: exchanges.repairs, known };
  }
}

/**
 * An event under the name that its data may tell alone. What has none is of neither format, and clients throw on it: an error as
 * chat completions tell one, their `[DONE]`, a sign of life.
 */
function withName(event: EventSourceMessage, context: RefusalContext): EventSourceMessage | null {
  if (event.event) return event;
  const fields = fieldsOf(parseOrUndefined(event.data));
  if (typeof fields['type'] === 'string') return { ...event, event: fields['type'] };
  if (isObject(fields['error'])) throw errorInStream(fields, context);
  return null;
}

/** The headers of this request alone: its betas, and those that the client named where the operator permits that. */
function headersOf(
  { value }: JsonBody<NativeRequest>,
  { members, betas }: NativeFormat,
  { passThrough }: Pick<RequestProfile, 'passThrough'>,
  { betas: named = '' }: EngineCall,
): string[] | undefined {
  const own = betas?.(value, (member) => members.has(member) || passThrough.includes(member)) ?? [];
  const clients = passThrough.includes(betaHeader) ? (named.match(/[\w.-]+/g) ?? []) : [];
  const all = new Set([...own, ...clients]);
  return all.size > 0 ? [betaHeader, [...all].join(',')] : undefined;
}

const betaHeader = 'anthropic-beta';

/** What is sent: the client's bytes with the server's name of the model, without what does not go on. */
function bodyOf(
  { value, text }: JsonBody<NativeRequest>,
  { members }: NativeFormat,
  { model, passThrough }: Pick<RequestProfile, 'model' | 'passThrough'>,
): Buffer {
  const edits: Edits = new Map([['model', JSON.stringify(model)]]);
  for (const name in value) if (!members.has(name) && !passThrough.includes(name)) edits.set(name, null);
  return Buffer.from(editMembers(text, edits));
}

import type { EventSourceMessage } from 'eventsource-parser';
import { fieldsOf, isObject, parseOrUndefined } from '../../../base/fields.ts';
import { estimateText, tokensOfBytes } from '../../../wire/chat/request/estimate-prompt.ts';
import type { CompletionsRequest } from '../../../wire/completions/completions.ts';
import { editMembers, type Edits } from '../../../wire/json/edit-members.ts';
import type { JsonBody } from '../../../wire/json/json-body.ts';
import type { EngineCall, NativeCalls, NativeEvent, NativeRequest } from '../../engines.ts';
import { readEvents } from '../answer/sse-events.ts';
import { checkedUsage, type UsageOptions } from '../answer/usage.ts';
import { createCompletionCalls } from '../completions/completion-calls.ts';
import type { JsonClient } from '../connection/json-client.ts';
import { errorInBody, unusable } from '../connection/parse-body.ts';
import type { RefusalContext } from '../connection/status-errors.ts';
import type { Prober } from '../probe/prober.ts';
import { type RequestProfile, saltMembers } from '../request/request-text.ts';
import type { NativeFormat } from './native-format.ts';
import { nativeMessages } from './native-messages.ts';
import { nativeResponses } from './native-responses.ts';

const formats = { messages: nativeMessages, responses: nativeResponses };

/** Calls of a server in formats that are not translated. */
export function createNativeCalls(client: JsonClient, prober: Pick<Prober, 'profile'>): NativeCalls {
  const completions = createCompletionCalls(client, prober);

  function prepare(request: JsonBody<NativeRequest>, format: NativeFormat, call: EngineCall) {
    const profile = prober.profile.requestFor(call);
    const body = bodyOf(request, format, profile);
    const headers = headersOf(request, format, profile, call);
    request.release?.();
    return { body, headers };
  }

  const usageOptions = (request: JsonBody<NativeRequest>, { trace }: EngineCall): UsageOptions => ({
    estimatePrompt: () => estimateText(request.text),
    repairs: client.repairs,
    trace,
  });

  return {
    async generate(name, request, call) {
      if (name === 'completions') return completions.generate(request as JsonBody<CompletionsRequest>, call);
      const format = formats[name];
      const { body, headers } = prepare(request, format, call);
      const { fields, bytes } = await client.post(format.path, body, call, headers);
      const { usage, generated } = format.read(fields);
      const estimateAnswer = () => estimateText(generated);
      const checked = checkedUsage(usage, { ...usageOptions(request, call), estimateAnswer });
      const text = bytes.toString();
      return { text: format.corrected?.(fields, text) ?? text, fields, usage: checked };
    },
    async *stream(name, request, call) {
      if (name === 'completions')
        return yield* completions.stream(request as JsonBody<CompletionsRequest>, call);
      const format = formats[name];
      const { body, headers } = prepare(request, format, call);
      const reply = await client.postStreaming(format.path, body, call, headers);
      if (!reply.isStream) throw unusable('is not the requested stream');
      const { body: chunks, finish } = reply;
      const options = usageOptions(request, call);
      const context = client.context();
      const readEvent = format.createReader(context);
      let bytes = 0;
      let isOver = false;
      function read(message: EventSourceMessage): NativeEvent | null {
        const named = withName(message, context);
        const event = named && readEvent(named);
        if (!event) return null;
        const { startUsage, endUsage, delta = '' } = event;
        bytes += Buffer.byteLength(delta);
        if (startUsage) {
          const atStart = { ...options, estimateAnswer: () => 0, trace: undefined };
          event.promptTokens = checkedUsage(startUsage, atStart).prompt_tokens;
        }
        if (endUsage) {
          event.usage = checkedUsage(endUsage, { ...options, estimateAnswer: () => tokensOfBytes(bytes) });
          isOver = true;
          finish();
        }
        return event;
      }
      yield* readEvents(chunks, read, () => isOver);
      if (!isOver) throw unusable('ended early');
    },
  };
}

/**
 * Names an event after the type in its data. Clients throw on events without a type, which belong to no format: errors in the
 * form of chat completions, their `[DONE]`, keep-alives.
 */
function withName(event: EventSourceMessage, context: RefusalContext): EventSourceMessage | null {
  if (event.event) return event;
  const fields = fieldsOf(parseOrUndefined(event.data));
  if (typeof fields['type'] === 'string') return { ...event, event: fields['type'] };
  if (isObject(fields['error'])) throw errorInBody(fields, context);
  return null;
}

/** Headers of this request: its betas, and those of the client where the operator permits them. */
function headersOf(
  { value }: JsonBody<NativeRequest>,
  { members, betas }: NativeFormat,
  { passThrough }: Pick<RequestProfile, 'passThrough'>,
  { betas: named = '' }: EngineCall,
): string[] {
  const own = betas?.(value, (member) => members.has(member) || passThrough.includes(member)) ?? [];
  const clients = passThrough.includes(betaHeader) ? (named.match(/[\w.-]+/g) ?? []) : [];
  const all = new Set([...own, ...clients]);
  return all.size > 0 ? [betaHeader, [...all].join(',')] : [];
}

const betaHeader = 'anthropic-beta';

/** The client's bytes with the server's model name and only the permitted members. */
function bodyOf(
  { value, text }: JsonBody<NativeRequest>,
  { members }: NativeFormat,
  { model, passThrough, salt }: Pick<RequestProfile, 'model' | 'passThrough' | 'salt'>,
): Buffer {
  const edits: Edits = new Map([['model', JSON.stringify(model)]]);
  for (const name in value) if (!members.has(name) && !passThrough.includes(name)) edits.set(name, null);
  for (const [name, member] of saltMembers(salt)) edits.set(name, member);
  return Buffer.from(editMembers(text, edits));
}

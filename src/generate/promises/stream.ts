import type { EngineCall } from '../../engines/engines.ts';
import type { AssistantMessage, ChatChunks, ChatDelta, ChatUsage, ToolCall } from '../../wire/chat/chat.ts';
import { chunksOf } from '../../wire/chat/chunks-of.ts';
import type { Check } from './check.ts';
import { edited } from './edited.ts';
import { keepStreamedCalls } from './keep.ts';
import { filtersCalls, isHeld } from './rule.ts';
import { type Asking, runPromised, type Terms } from './run.ts';
import { waysOf } from './ways.ts';

/**
 * A streamed answer. Where something was promised that the engine does not hold by itself, the answer is made and checked
 * first and streamed afterwards: what a client has seen cannot be taken back. Everything else streams as it comes, and what
 * the engine holds is checked at its end.
 */
export async function* streamPromised(
  terms: Terms,
  asking: Asking,
  call: EngineCall,
  produced: (usage: ChatUsage) => void,
): ChatChunks {
  const { engine, newCallId } = asking;
  const { rule, check } = terms;
  const { capabilities } = engine;
  if (!isHeld(rule, capabilities)) {
    const request = edited(asking.request, { stream: undefined, stream_options: undefined });
    const response = await runPromised(terms, { ...asking, request }, call);
    produced(response.usage);
    yield [...chunksOf(response)];
    return;
  }
  const question = { request: asking.request, rule, capabilities, newCallId };
  const given = engine.stream(waysOf(question).first(question, null).request, call);
  const chunks = filtersCalls(rule) ? keepStreamedCalls(given, rule) : given;
  yield* check ? checkedAtEnd(chunks, check) : chunks;
}

/**
 * Looked at although the engine keeps the promise: there are keywords that its grammar does not hold. Every choice is checked
 * before its finish reason is told.
 * @throws ApiError `schema_not_met` or `tool_not_called`, which ends the stream with an error
 */
async function* checkedAtEnd(lists: ChatChunks, check: Check): ChatChunks {
  const messages = new Map<number, AssistantMessage>();
  for await (const chunks of lists) {
    for (const { index, delta, finish_reason: finish } of chunks.flatMap(({ choices }) => choices)) {
      let message = messages.get(index);
      if (!message) messages.set(index, (message = { role: 'assistant', content: null, refusal: null }));
      append(message, delta);
      if (finish !== null)
        await check({ choices: [{ index, message, logprobs: null, finish_reason: finish }] });
    }
    yield chunks;
  }
}

function append(message: AssistantMessage, { content, refusal, tool_calls: calls }: ChatDelta): void {
  if (content) message.content = (message.content ?? '') + content;
  if (refusal) message.refusal = (message.refusal ?? '') + refusal;
  for (const { index, id, function: piece } of calls ?? []) {
    const known: ToolCall[] = (message.tool_calls ??= []);
    known[index] ??= { id: id ?? '', type: 'function', function: { name: '', arguments: '' } };
    known[index].function.name += piece?.name ?? '';
    known[index].function.arguments += piece?.arguments ?? '';
  }
}

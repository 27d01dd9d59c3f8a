import type { AssistantMessage, ChatChunks, ChatDelta, ToolCall } from '../wire/chat/chat.ts';
import type { Promised } from './conformity.ts';

/**
 * A stream whose engine keeps the promise, looked at all the same: a keyword that is not strict may not have been held. Every
 * choice is checked before its finish reason is told.
 * @throws ApiError `schema_not_met` or `tool_not_called`, which ends the stream with an error
 */
export async function* checkedAtEnd(lists: ChatChunks, promised: Pick<Promised, 'check'>): ChatChunks {
  const messages = new Map<number, AssistantMessage>();
  for await (const chunks of lists) {
    for (const { index, delta, finish_reason: finish } of chunks.flatMap(({ choices }) => choices)) {
      let message = messages.get(index);
      if (!message) messages.set(index, (message = { role: 'assistant', content: null, refusal: null }));
      append(message, delta);
      if (finish === null) continue;
      const choice = { index, message, logprobs: null, finish_reason: finish };
      await promised.check({ choices: [choice] });
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

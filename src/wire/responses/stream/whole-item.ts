import { added, callEvents, itemDone, messageEvents, reasoningEvents } from '../answer/item-events.ts';
import type { EventFields } from '../answer/item-events.ts';
import type { FunctionCallItem, MessageItem, OutputItem, ReasoningItem } from '../responses.ts';

/**
 * The events of one item that came whole, whatever it holds beside what we make ourselves: marks of thoughts, citations,
 * calls of tools that are no functions. One that an answer broke off in has no end.
 * @param place in the output
 */
export function wholeItem(item: OutputItem, place: number): EventFields[] {
  const isOver = item.status !== 'in_progress';
  return [...contents(item), ...(isOver ? [itemDone(item)] : [])].map((event) => ({
    ...event,
    output_index: place,
  }));
}

function contents(item: OutputItem): EventFields[] {
  const begun = { ...item, status: 'in_progress' as const };
  if (begun.type === 'message' && begun.content) return ofMessage(begun);
  if (begun.type === 'function_call') return ofCall(begun);
  if (begun.type === 'reasoning' && begun.summary) return ofReasoning(begun);
  return [added(begun)];
}

function ofMessage(item: MessageItem): EventFields[] {
  const growing: MessageItem = { ...item, content: [] };
  const events = [messageEvents.added(growing)];
  for (const part of item.content) {
    const isText = part.type === 'output_text';
    growing.content.push(isText ? { ...part, text: '', logprobs: [] } : { ...part, refusal: '' });
    events.push(messageEvents.partAdded(growing));
    events.push(
      isText
        ? messageEvents.textDelta(growing, part.text, part.logprobs ?? [])
        : messageEvents.refusalDelta(growing, part.refusal),
    );
    growing.content.splice(-1, 1, part);
    events.push(...messageEvents.partDone(growing));
  }
  return events;
}

function ofCall(item: FunctionCallItem): EventFields[] {
  const begun = callEvents.added({ ...item, arguments: '' });
  return [begun, callEvents.delta(item, item.arguments), callEvents.argumentsDone(item)];
}

function ofReasoning(item: ReasoningItem): EventFields[] {
  const growing: ReasoningItem = { ...item, summary: [] };
  const events = [reasoningEvents.added(growing)];
  for (const part of item.summary) {
    growing.summary.push({ ...part, text: '' });
    events.push(reasoningEvents.partAdded(growing), reasoningEvents.delta(growing, part.text));
    growing.summary.splice(-1, 1, part);
    events.push(...reasoningEvents.partDone(growing));
  }
  return events;
}

import {
  itemAdded,
  argumentsDelta,
  contentDone,
  type EventFields,
  itemDone,
  logprobsOf,
  partAdded,
  partDelta,
  partDone,
  partsOf,
  type OutputPart,
  type ProseItem,
  textOf,
} from '../answer/item-events.ts';
import type { OutputItem } from '../responses.ts';

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
  if (begun.type === 'message' && begun.content) return ofProse(begun, { ...begun, content: [] });
  if (begun.type === 'reasoning' && begun.summary) return ofProse(begun, { ...begun, summary: [] });
  if (begun.type === 'function_call')
    return [
      itemAdded({ ...begun, arguments: '' }),
      argumentsDelta(begun, begun.arguments),
      ...contentDone(begun),
    ];
  return [itemAdded(begun)];
}

/** @param growing the same without its parts */
function ofProse(item: ProseItem, growing: ProseItem): EventFields[] {
  const events = [itemAdded(growing)];
  const told = partsOf(growing);
  for (const part of partsOf(item)) {
    told.push(emptied(part));
    events.push(partAdded(growing), partDelta(growing, textOf(part), logprobsOf(part)));
    told.splice(-1, 1, part);
    events.push(...partDone(growing));
  }
  return events;
}

function emptied(part: OutputPart): OutputPart {
  if (part.type === 'refusal') return { ...part, refusal: '' };
  return { ...part, text: '', ...(part.type === 'output_text' && { logprobs: [] }) };
}

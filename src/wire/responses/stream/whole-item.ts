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

/** Events of a whole item at an index of the output. An item of a failed answer has no end. */
export function wholeItemEvents(item: OutputItem, index: number): EventFields[] {
  const isOver = item.status !== 'in_progress';
  return [...contents(item), ...(isOver ? [itemDone(item)] : [])].map((event) => ({
    ...event,
    output_index: index,
  }));
}

function contents(item: OutputItem): EventFields[] {
  const begun = { ...item, status: 'in_progress' as const };
  if (begun.type === 'message' && begun.content) return proseEvents(begun, { ...begun, content: [] });
  if (begun.type === 'reasoning' && begun.summary) return proseEvents(begun, { ...begun, summary: [] });
  if (begun.type === 'function_call')
    return [
      itemAdded({ ...begun, arguments: '' }),
      argumentsDelta(begun, begun.arguments),
      ...contentDone(begun),
    ];
  return [itemAdded(begun)];
}

/** @param growing the item without its parts */
function proseEvents(item: ProseItem, growing: ProseItem): EventFields[] {
  const events = [itemAdded(growing)];
  const sent = partsOf(growing);
  for (const part of partsOf(item)) {
    sent.push(emptied(part));
    events.push(partAdded(growing), partDelta(growing, textOf(part), logprobsOf(part)));
    sent.splice(-1, 1, part);
    events.push(...partDone(growing));
  }
  return events;
}

function emptied(part: OutputPart): OutputPart {
  if (part.type === 'refusal') return { ...part, refusal: '' };
  return { ...part, text: '', ...(part.type === 'output_text' && { logprobs: [] }) };
}

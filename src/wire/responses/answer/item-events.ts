import type { TokenLogprob } from '../../chat/chat.ts';
import type { MessageItem, OutputItem, ReasoningItem } from '../responses.ts';

/**
 * Event of an item, without its sequence number. Items are copied into events, because they grow. Only event types that every
 * client library knows are sent; some throw at others.
 */
export interface EventFields {
  type: string;
  [field: string]: unknown;
}

/** Item with text parts. */
export type ProseItem = MessageItem | ReasoningItem;
export type OutputPart = MessageItem['content'][number] | ReasoningItem['summary'][number];

/** Names of the events of a part and of its text. */
const namesOf = (part: string, text: string) => ({
  added: `${part}.added`,
  delta: `${text}.delta`,
  textDone: `${text}.done`,
  done: `${part}.done`,
});
const eventNames = {
  text: namesOf('response.content_part', 'response.output_text'),
  refusal: namesOf('response.content_part', 'response.refusal'),
  reasoning: namesOf('response.reasoning_summary_part', 'response.reasoning_summary_text'),
};

const withItem =
  (type: string) =>
  (item: OutputItem): EventFields => ({ type, item: copyOf(item) });

export const itemAdded = withItem('response.output_item.added');

export const itemDone = withItem('response.output_item.done');

/** Snapshot of an item; `structuredClone` would cost more than all the rest of an answer. */
function copyOf(item: OutputItem): OutputItem {
  if (item.type === 'message') return { ...item, content: item.content?.map(copyOfPart) };
  return item.type === 'reasoning' ? { ...item, summary: item.summary?.map(copyOfPart) } : { ...item };
}

function copyOfPart<T extends OutputPart>(part: T): T {
  return part.type === 'output_text' ? { ...part, logprobs: [...logprobsOf(part)] } : { ...part };
}

export function partsOf(item: ProseItem): OutputPart[] {
  return item.type === 'message' ? item.content : item.summary;
}

export function textOf(part: OutputPart): string {
  return part.type === 'refusal' ? part.refusal : part.text;
}

/** Parts of other servers may lack log probabilities. */
export function logprobsOf(part: OutputPart): TokenLogprob[] {
  return part.type === 'output_text' ? (part.logprobs ?? []) : [];
}

/** Last part of an item, its position, and the names of its events. */
function lastPart(item: ProseItem) {
  const parts = partsOf(item);
  const last = parts.length - 1;
  const position =
    item.type === 'message'
      ? { item_id: item.id, content_index: last }
      : { item_id: item.id, summary_index: last };
  const part = parts.at(-1)!;
  const kind = part.type === 'output_text' ? 'text' : 'refusal';
  return { part, position, names: eventNames[item.type === 'reasoning' ? 'reasoning' : kind] };
}

export function partAdded(item: ProseItem): EventFields {
  const { part, position, names } = lastPart(item);
  return { type: names.added, ...position, part: copyOfPart(part) };
}

export function partDelta(item: ProseItem, delta: string, logprobs: TokenLogprob[]): EventFields {
  const { part, position, names } = lastPart(item);
  const type = names.delta;
  // Called for every token, so it allocates only the event.
  return part.type === 'output_text' ? { type, ...position, delta, logprobs } : { type, ...position, delta };
}

export function partDone(item: ProseItem): EventFields[] {
  const { part: last, position, names } = lastPart(item);
  const part = copyOfPart(last);
  const text = part.type === 'refusal' ? { refusal: part.refusal } : { text: part.text };
  const content = part.type === 'output_text' ? { ...text, logprobs: part.logprobs } : text;
  return [
    { type: names.textDone, ...position, ...content },
    { type: names.done, ...position, part },
  ];
}

export const argumentsDelta = ({ id }: OutputItem, delta: string): EventFields => ({
  type: 'response.function_call_arguments.delta',
  item_id: id,
  delta,
});

/** Events that end the content of an item. Free text is sent whole, because it is decoded from JSON at the end. */
export function contentDone(item: OutputItem): EventFields[] {
  switch (item.type) {
    case 'message':
    case 'reasoning':
      return partDone(item);
    case 'function_call': {
      const { id, name, arguments: json } = item;
      return [{ type: 'response.function_call_arguments.done', item_id: id, name, arguments: json }];
    }
    case 'custom_tool_call': {
      const { id, input } = item;
      return [
        { type: 'response.custom_tool_call_input.delta', item_id: id, delta: input },
        { type: 'response.custom_tool_call_input.done', item_id: id, input },
      ];
    }
    default:
      return [];
  }
}

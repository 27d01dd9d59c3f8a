import type { TokenLogprob } from '../../chat/chat.ts';
import type { MessageItem, OutputItem, ReasoningItem } from '../responses.ts';

/**
 * The events of items, without their numbers (wire-formats.md, section 1b). Items are copied into them: they go on growing.
 * Only types that every client library knows are made; an unknown one makes some of them throw.
 */
export interface EventFields {
  type: string;
  [field: string]: unknown;
}

/** What has parts with text. */
export type ProseItem = MessageItem | ReasoningItem;
export type OutputPart = MessageItem['content'][number] | ReasoningItem['summary'][number];

/** What the events of a part, and of its text, are called. */
const namesOf = (part: string, text: string) => ({
  added: `${part}.added`,
  delta: `${text}.delta`,
  textDone: `${text}.done`,
  done: `${part}.done`,
});
const eventNames = {
  text: namesOf('response.content_part', 'response.output_text'),
  refusal: namesOf('response.content_part', 'response.refusal'),
  thoughts: namesOf('response.reasoning_summary_part', 'response.reasoning_summary_text'),
};

const withItem =
  (type: string) =>
  (item: OutputItem): EventFields => ({ type, item: copyOf(item) });

export const itemAdded = withItem('response.output_item.added');

export const itemDone = withItem('response.output_item.done');

/** A copy that stays as it is; `structuredClone` would cost more than all the rest of an answer. */
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

/** Those of a part that came from elsewhere may be missing. */
export function logprobsOf(part: OutputPart): TokenLogprob[] {
  return part.type === 'output_text' ? (part.logprobs ?? []) : [];
}

/** The last part of an item, where it is, and what its events are called. */
function lastPart(item: ProseItem) {
  const parts = partsOf(item);
  const last = parts.length - 1;
  const place =
    item.type === 'message'
      ? { item_id: item.id, content_index: last }
      : { item_id: item.id, summary_index: last };
  const part = parts.at(-1)!;
  const said = part.type === 'output_text' ? 'text' : 'refusal';
  return { part, place, names: eventNames[item.type === 'reasoning' ? 'thoughts' : said] };
}

/** The beginning of the last part of an item. */
export function partAdded(item: ProseItem): EventFields {
  const { part, place, names } = lastPart(item);
  return { type: names.added, ...place, part: copyOfPart(part) };
}

/** More text of that part. */
export function partDelta(item: ProseItem, delta: string, logprobs: TokenLogprob[]): EventFields {
  const { part, place, names } = lastPart(item);
  const type = names.delta;
  // One for every token: nothing is made that is not told.
  return part.type === 'output_text' ? { type, ...place, delta, logprobs } : { type, ...place, delta };
}

/** Its end. */
export function partDone(item: ProseItem): EventFields[] {
  const { part: last, place, names } = lastPart(item);
  const part = copyOfPart(last);
  const text = part.type === 'refusal' ? { refusal: part.refusal } : { text: part.text };
  const said = part.type === 'output_text' ? { ...text, logprobs: part.logprobs } : text;
  return [
    { type: names.textDone, ...place, ...said },
    { type: names.done, ...place, part },
  ];
}

export const argumentsDelta = ({ id }: OutputItem, delta: string): EventFields => ({
  type: 'response.function_call_arguments.delta',
  item_id: id,
  delta,
});

/** What ends the content of an item. Free text comes whole: what is inside of JSON is known when that is over. */
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

import type { TokenLogprob } from '../../chat/chat.ts';
import type {
  CustomCallItem,
  FunctionCallItem,
  MessageItem,
  OutputItem,
  ReasoningItem,
} from '../responses.ts';

/**
 * The events of items, without their numbers (wire-formats.md, section 1b). Items are copied into them: they go on growing.
 * Only types that every client library knows are made; an unknown one makes some of them throw.
 */
export interface EventFields {
  type: string;
  [field: string]: unknown;
}

type ContentPart = MessageItem['content'][number];

export const added = (item: OutputItem): EventFields => ({
  type: 'response.output_item.added',
  item: copyOf(item),
});

export const itemDone = (item: OutputItem): EventFields => ({
  type: 'response.output_item.done',
  item: copyOf(item),
});

/** A copy that stays as it is; `structuredClone` would cost more than all the rest of an answer. */
function copyOf(item: OutputItem): OutputItem {
  if (item.type === 'message') return { ...item, content: item.content?.map(copyOfPart) };
  return item.type === 'reasoning'
    ? { ...item, summary: item.summary?.map((part) => ({ ...part })) }
    : { ...item };
}

function copyOfPart(part: ContentPart): ContentPart {
  return part.type === 'output_text' ? { ...part, logprobs: [...(part.logprobs ?? [])] } : { ...part };
}

const partOf = (item: MessageItem) => ({ item_id: item.id, content_index: item.content.length - 1 });

export const messageEvents = {
  added: (item: MessageItem) => added(item),

  partAdded: (item: MessageItem): EventFields => ({
    type: 'response.content_part.added',
    ...partOf(item),
    part: copyOfPart(item.content.at(-1)!),
  }),

  textDelta: (item: MessageItem, delta: string, logprobs: TokenLogprob[]): EventFields => ({
    type: 'response.output_text.delta',
    ...partOf(item),
    delta,
    logprobs,
  }),

  refusalDelta: (item: MessageItem, delta: string): EventFields => ({
    type: 'response.refusal.delta',
    ...partOf(item),
    delta,
  }),

  partDone(item: MessageItem): EventFields[] {
    const part = copyOfPart(item.content.at(-1)!);
    const said =
      part.type === 'output_text'
        ? { type: 'response.output_text.done', text: part.text, logprobs: part.logprobs }
        : { type: 'response.refusal.done', refusal: part.refusal };
    return [
      { ...said, ...partOf(item) },
      { type: 'response.content_part.done', ...partOf(item), part },
    ];
  },
};

const summaryOf = (item: ReasoningItem) => ({ item_id: item.id, summary_index: item.summary.length - 1 });

export const reasoningEvents = {
  added: (item: ReasoningItem) => added(item),

  partAdded: (item: ReasoningItem): EventFields => ({
    type: 'response.reasoning_summary_part.added',
    ...summaryOf(item),
    part: { type: 'summary_text', text: '' },
  }),

  delta: (item: ReasoningItem, delta: string): EventFields => ({
    type: 'response.reasoning_summary_text.delta',
    ...summaryOf(item),
    delta,
  }),

  partDone(item: ReasoningItem): EventFields[] {
    const part = { ...item.summary.at(-1)! };
    const at = summaryOf(item);
    return [
      { type: 'response.reasoning_summary_text.done', ...at, text: part.text },
      { type: 'response.reasoning_summary_part.done', ...at, part },
    ];
  },
};

/** The text comes whole: what is inside of JSON is known when that is over. */
export const customEvents = {
  added: (item: CustomCallItem) => added(item),

  inputDone: (item: CustomCallItem): EventFields[] => [
    { type: 'response.custom_tool_call_input.delta', item_id: item.id, delta: item.input },
    { type: 'response.custom_tool_call_input.done', item_id: item.id, input: item.input },
  ],
};

export const callEvents = {
  added: (item: FunctionCallItem) => added(item),

  delta: (item: FunctionCallItem, delta: string): EventFields => ({
    type: 'response.function_call_arguments.delta',
    item_id: item.id,
    delta,
  }),

  argumentsDone: (item: FunctionCallItem): EventFields => ({
    type: 'response.function_call_arguments.done',
    item_id: item.id,
    name: item.name,
    arguments: item.arguments,
  }),
};

import type { AssistantMessage, ChatDelta, TokenLogprob } from '../../chat/chat.ts';
import { readFreeText } from '../../chat/free-text.ts';
import { outputItemId } from '../item-ids.ts';
import { calledType, callTypeOf, definedCall } from '../defined-tools.ts';
import type { ClientNames } from '../client-tools.ts';
import {
  itemAdded,
  argumentsDelta,
  contentDone,
  type EventFields,
  itemDone,
  type OutputPart,
  partAdded,
  partDelta,
  partDone,
  partsOf,
  type ProseItem,
} from './item-events.ts';
import type {
  CustomCallItem,
  FunctionCallItem,
  DefinedCallItem,
  MessageItem,
  OutputItem,
  ClientName,
  ReasoningItem,
} from '../responses.ts';

export type CallItem = FunctionCallItem | CustomCallItem | DefinedCallItem;

/** Piece of the output, for a replay: index of its item, and number of characters. */
export type OutputPiece = [outputIndex: number, length: number];

/** Delta of a tool call; `key` identifies the call within the answer. */
export interface CallDelta {
  key: number;
  id?: string | undefined;
  name?: string | undefined;
  /** With the first delta, if the client's name differs from the model's. */
  clientName?: ClientName | undefined;
  arguments?: string | undefined;
}

export interface OutputBuilderOptions {
  responseId: string;
  /** Receives the events of the items in order. */
  emit?: (event: EventFields) => void;
  /** Creates ids for calls without one. */
  newCallId: () => string;
  clientNames?: ClientNames;
}

/**
 * Builds the output of a response from pieces and emits its events. Streams, whole answers and replays of stored responses
 * all use it, so that they agree.
 *
 * At most one prose item (reasoning or message) is open; the other kind, or a call, closes it. Calls stay open to the end,
 * because some servers interleave their pieces.
 */
export class OutputBuilder {
  readonly items: OutputItem[] = [];
  readonly pieces: OutputPiece[] = [];
  readonly #options: OutputBuilderOptions;
  readonly #emit: ((item: OutputItem, fields: EventFields) => void) | undefined;
  #prose: ProseItem | undefined;
  readonly #calls = new Map<number, CallItem>();
  /** Arguments so far of calls that are not functions. */
  readonly #inputs = new Map<OutputItem, string>();
  /** Index of each item in the output. */
  readonly #indexes = new Map<OutputItem, number>();

  constructor(options: OutputBuilderOptions) {
    this.#options = options;
    const { emit } = options;
    if (emit) this.#emit = (item, fields) => emit({ ...fields, output_index: this.#indexes.get(item) });
  }

  /** Adds a message, or a delta of one. */
  add(
    message: Pick<AssistantMessage | ChatDelta, 'reasoning' | 'reasoning_content' | 'content' | 'refusal'>,
    logprobs: TokenLogprob[],
    calls: ChatDelta['tool_calls'] = [],
  ): void {
    this.addText('summary_text', message.reasoning ?? message.reasoning_content ?? '');
    this.#text(message.content ?? '', logprobs);
    this.addText('refusal', message.refusal ?? '');
    for (const { index, id, function: called } of calls)
      this.addCall({
        key: index,
        id,
        name: called?.name,
        clientName: this.#options.clientNames?.get(called?.name ?? ''),
        arguments: called?.arguments,
      });
  }

  /** Adds text to the open part, or to a new one of this type. */
  addText(type: OutputPart['type'], delta: string, logprobs: TokenLogprob[] = []): void {
    if (delta === '') return;
    const item = this.#begin(type);
    this.#emit?.(item, partDelta(item, delta, logprobs));
    const last = partsOf(item).at(-1)!;
    if (last.type === 'refusal') last.refusal += delta;
    else last.text += delta;
    if (last.type === 'output_text') last.logprobs.push(...logprobs);
    this.#note(item, delta.length);
  }

  addCall({ key, id, name = '', clientName: own, arguments: json = '' }: CallDelta): void {
    const callId = () => id || this.#options.newCallId();
    const item = this.#calls.get(key) ?? this.#openCall(key, callId(), own ?? { type: 'function', name });
    if (item.type !== 'function_call') {
      this.#inputs.set(item, (this.#inputs.get(item) ?? '') + json);
      return;
    }
    if (json !== '') this.#emit?.(item, argumentsDelta(item, json));
    item.arguments += json;
    this.#note(item, json.length);
  }

  /** Closes every item. An empty answer gets an empty message; a truncated one ends in an incomplete item. */
  close(status: 'completed' | 'incomplete'): void {
    if (this.items.length === 0) this.#note(this.#begin('output_text'), 0);
    const last = this.items.at(-1);
    if (this.#prose && this.#calls.size === 0) this.#setPhase(this.#prose, 'final_answer');
    for (const item of this.items)
      if (item.status === 'in_progress') this.#closeItem(item, item === last ? status : 'completed');
  }

  /** Marks the items of a failed answer as incomplete, without events. */
  abandon(): void {
    for (const item of this.items)
      if (item.status === 'in_progress') {
        if (item.type === 'reasoning') item.content = contentOf(item);
        this.#fill(item);
        item.status = 'incomplete';
      }
  }

  #note(item: OutputItem, length: number): void {
    this.pieces.push([this.#indexes.get(item)!, length]);
  }

  #text(delta: string, logprobs: TokenLogprob[]): void {
    // White space after a call is left over from chat templates.
    const isLeftover = this.#prose === undefined && this.#calls.size > 0 && delta.trim() === '';
    if (!isLeftover) this.addText('output_text', delta, logprobs);
  }

  /** Returns the open item of this kind, with a last part of this type. */
  #begin(type: OutputPart['type']): ProseItem {
    const kind = type === 'summary_text' ? 'reasoning' : 'message';
    const item = this.#prose?.type === kind ? this.#prose : this.#openProse(kind);
    const parts = partsOf(item);
    if (parts.at(-1)?.type === type) return item;
    if (parts.length > 0) this.#emitAll(item, partDone);
    parts.push(newPart(type));
    this.#emit?.(item, partAdded(item));
    return item;
  }

  #openProse(type: ProseItem['type']): ProseItem {
    const id = this.#id(type);
    const status = 'in_progress';
    return (this.#prose = this.#open<ProseItem>(
      type === 'message'
        ? { id, type, status, role: 'assistant', content: [] }
        : { id, type, status, summary: [] },
    ));
  }

  #openCall(key: number, callId: string, { type: tool, ...own }: ClientName): CallItem {
    const open = <T extends CallItem['type']>(type: T) =>
      ({ id: this.#id(type), type, status: 'in_progress', call_id: callId }) as const;
    const item = this.#open<CallItem>(
      tool === 'function'
        ? { ...open('function_call'), ...own, arguments: '' }
        : tool === 'custom'
          ? { ...open('custom_tool_call'), ...own, input: '' }
          : { ...open(callTypeOf(tool)), ...definedCall(tool, '') },
    );
    this.#calls.set(key, item);
    if (item.type !== 'function_call') this.#note(item, 0);
    return item;
  }

  #open<T extends OutputItem>(item: T): T {
    if (this.#prose) this.#closeItem(this.#prose, 'completed');
    this.#indexes.set(item, this.items.length);
    this.items.push(item);
    this.#emit?.(item, itemAdded(item));
    return item;
  }

  #id(type: string): string {
    return outputItemId(this.#options.responseId, type, this.items.length);
  }

  /** Sets the content of a call that is not a function, from its complete arguments. */
  #fill(item: OutputItem): void {
    const json = this.#inputs.get(item) ?? '';
    const tool = calledType(item);
    if (tool) Object.assign(item, definedCall(tool, json));
    else if (item.type === 'custom_tool_call') item.input = readFreeText(json);
  }

  #closeItem(item: OutputItem, status: 'completed' | 'incomplete'): void {
    if (item === this.#prose) this.#prose = undefined;
    this.#fill(item);
    this.#emitAll(item, contentDone);
    if (item.type === 'reasoning') item.content = contentOf(item);
    this.#setPhase(item, 'commentary');
    item.status = status;
    this.#emit?.(item, itemDone(item));
  }

  #setPhase(item: OutputItem, phase: NonNullable<MessageItem['phase']>): void {
    if (item.type === 'message') item.phase ??= phase;
  }

  #emitAll<T extends OutputItem>(item: T, eventsOf: (item: T) => EventFields[]): void {
    if (this.#emit) for (const event of eventsOf(item)) this.#emit(item, event);
  }
}

function contentOf({ summary }: ReasoningItem): ReasoningItem['content'] {
  return summary.map(({ text }) => ({ type: 'reasoning_text', text }));
}

function newPart(type: OutputPart['type']): OutputPart {
  if (type === 'refusal') return { type, refusal: '' };
  return type === 'output_text' ? { type, text: '', annotations: [], logprobs: [] } : { type, text: '' };
}

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

/** A piece of the output as it came: which item it belonged to and how many characters it had. */
export type OutputPiece = [outputIndex: number, length: number];

/** A piece of a tool call; `key` tells the calls of one answer apart. */
export interface CallDelta {
  key: number;
  id?: string | undefined;
  name?: string | undefined;
  /** With the first piece, where the client calls the tool otherwise than the model. */
  clientName?: ClientName | undefined;
  arguments?: string | undefined;
}

export interface OutputBuilderOptions {
  responseId: string;
  /** Takes the events of the items, in order; without it none are made. */
  emit?: (event: EventFields) => void;
  /** For calls that came without an id. */
  newCallId: () => string;
  /** Tools that the client calls otherwise than the model. */
  clientNames?: ClientNames;
}

/**
 * Puts the output of a response together from pieces, and tells what happens as events. A stream, a whole answer and the
 * replay of a stored response all come through here, so that they cannot disagree.
 *
 * At most one item of prose (reasoning or a message) is open; when the other kind or a call begins, it is done. Calls stay
 * open to the end, because some servers send the pieces of several in turns.
 */
export class OutputBuilder {
  readonly items: OutputItem[] = [];
  /** How the output came, for a replay. */
  readonly pieces: OutputPiece[] = [];
  readonly #options: OutputBuilderOptions;
  readonly #emit: ((item: OutputItem, fields: EventFields) => void) | undefined;
  #prose: ProseItem | undefined;
  readonly #calls = new Map<number, CallItem>();
  /** What came of the arguments of calls that have another form in the end. */
  readonly #inputs = new Map<OutputItem, string>();
  /** The place of each item in the output. */
  readonly #places = new Map<OutputItem, number>();

  constructor(options: OutputBuilderOptions) {
    this.#options = options;
    const { emit } = options;
    if (emit) this.#emit = (item, fields) => emit({ ...fields, output_index: this.#places.get(item) });
  }

  /** Takes what a message says, or a piece of one. */
  add(
    said: Pick<AssistantMessage | ChatDelta, 'reasoning' | 'reasoning_content' | 'content' | 'refusal'>,
    logprobs: TokenLogprob[],
    calls: ChatDelta['tool_calls'] = [],
  ): void {
    this.say('summary_text', said.reasoning ?? said.reasoning_content ?? '');
    this.#text(said.content ?? '', logprobs);
    this.say('refusal', said.refusal ?? '');
    for (const { index, id, function: called } of calls)
      this.call({
        key: index,
        id,
        name: called?.name,
        clientName: this.#options.clientNames?.get(called?.name ?? ''),
        arguments: called?.arguments,
      });
  }

  /** Adds to the part that is open, or to a new one where that is of another type. */
  say(type: OutputPart['type'], delta: string, logprobs: TokenLogprob[] = []): void {
    if (delta === '') return;
    const item = this.#begin(type);
    this.#emit?.(item, partDelta(item, delta, logprobs));
    const last = partsOf(item).at(-1)!;
    if (last.type === 'refusal') last.refusal += delta;
    else last.text += delta;
    if (last.type === 'output_text') last.logprobs.push(...logprobs);
    this.#note(item, delta.length);
  }

  call({ key, id, name = '', clientName: own, arguments: json = '' }: CallDelta): void {
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

  /** Ends every item. An answer without any item has an empty message; one that was cut ends in an incomplete item. */
  close(status: 'completed' | 'incomplete'): void {
    if (this.items.length === 0) this.#note(this.#begin('output_text'), 0);
    const last = this.items.at(-1);
    if (this.#prose && this.#calls.size === 0) this.#setPhase(this.#prose, 'final_answer');
    for (const item of this.items)
      if (item.status === 'in_progress') this.#closeItem(item, item === last ? status : 'completed');
  }

  /** What there is of an answer that broke off. No event tells it. */
  abandon(): void {
    for (const item of this.items)
      if (item.status === 'in_progress') {
        if (item.type === 'reasoning') item.content = contentOf(item);
        this.#fill(item);
        item.status = 'incomplete';
      }
  }

  #note(item: OutputItem, length: number): void {
    this.pieces.push([this.#places.get(item)!, length]);
  }

  #text(delta: string, logprobs: TokenLogprob[]): void {
    // Blanks after a call are what templates leave behind; they are no message.
    const isLeft = this.#prose === undefined && this.#calls.size > 0 && delta.trim() === '';
    if (!isLeft) this.say('output_text', delta, logprobs);
  }

  /** The open item, whose last part is of this type. */
  #begin(type: OutputPart['type']): ProseItem {
    const kind = type === 'summary_text' ? 'reasoning' : 'message';
    const item = this.#prose?.type === kind ? this.#prose : this.#openProse(kind);
    const parts = partsOf(item);
    if (parts.at(-1)?.type === type) return item;
    if (parts.length > 0) this.#tell(item, partDone);
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
    this.#places.set(item, this.items.length);
    this.items.push(item);
    this.#emit?.(item, itemAdded(item));
    return item;
  }

  #id(type: string): string {
    return outputItemId(this.#options.responseId, type, this.items.length);
  }

  /** Gives a call what its arguments say, where that is known only when they are whole. */
  #fill(item: OutputItem): void {
    const json = this.#inputs.get(item) ?? '';
    const tool = calledType(item);
    if (tool) Object.assign(item, definedCall(tool, json));
    else if (item.type === 'custom_tool_call') item.input = readFreeText(json);
  }

  #closeItem(item: OutputItem, status: 'completed' | 'incomplete'): void {
    if (item === this.#prose) this.#prose = undefined;
    this.#fill(item);
    this.#tell(item, contentDone);
    if (item.type === 'reasoning') item.content = contentOf(item);
    this.#setPhase(item, 'commentary');
    item.status = status;
    this.#emit?.(item, itemDone(item));
  }

  #setPhase(item: OutputItem, phase: NonNullable<MessageItem['phase']>): void {
    if (item.type === 'message') item.phase ??= phase;
  }

  #tell<T extends OutputItem>(item: T, eventsOf: (item: T) => EventFields[]): void {
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

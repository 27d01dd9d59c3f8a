import type { TokenLogprob } from '../../chat/chat.ts';
import { inputOf } from '../../chat/free-text.ts';
import { outputItemId } from '../item-ids.ts';
import { calledType, callTypeOf, knownCall } from '../known-tools.ts';
import { added, callEvents, customEvents, itemDone, messageEvents, reasoningEvents } from './item-events.ts';
import type { EventFields } from './item-events.ts';
import type {
  CustomCallItem,
  FunctionCallItem,
  KnownCallItem,
  KnownType,
  MessageItem,
  OutputItem,
  ReasoningItem,
  OwnName,
} from '../responses.ts';

type CallItem = FunctionCallItem | CustomCallItem | KnownCallItem;

/** A piece of the output as it came: which item it belonged to and how many characters it had. */
export type Piece = [outputIndex: number, length: number];

/** A piece of a tool call; `key` tells the calls of one answer apart. */
export interface CallPiece {
  key: number;
  id?: string | undefined;
  name?: string | undefined;
  /** With the first piece, where the client calls the tool otherwise than the model. */
  own?: OwnName | undefined;
  arguments?: string | undefined;
}

export interface OutputBuilderOptions {
  responseId: string;
  /** Takes the events of the items, in order; without it none are made. */
  emit?: (event: EventFields) => void;
  /** For calls that came without an id. */
  newCallId: () => string;
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
  readonly pieces: Piece[] = [];
  readonly #options: OutputBuilderOptions;
  readonly #emit: ((item: OutputItem, fields: EventFields) => void) | undefined;
  #prose: MessageItem | ReasoningItem | undefined;
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

  reasoning(delta: string): void {
    if (delta === '') return;
    const item = this.#prose?.type === 'reasoning' ? this.#prose : this.#openReasoning();
    this.#emit?.(item, reasoningEvents.delta(item, delta));
    item.summary[0]!.text += delta;
    this.#note(item, delta.length);
  }

  text(delta: string, logprobs: TokenLogprob[] = []): void {
    // Blanks after a call are what templates leave behind; they are no message.
    if (delta === '' || (this.#prose === undefined && this.#calls.size > 0 && delta.trim() === '')) return;
    const item = this.#message();
    let part = item.content.at(-1);
    if (part?.type !== 'output_text') {
      this.#closePart(item);
      part = { type: 'output_text', text: '', annotations: [], logprobs: [] };
      item.content.push(part);
      this.#emit?.(item, messageEvents.partAdded(item));
    }
    this.#emit?.(item, messageEvents.textDelta(item, delta, logprobs));
    part.text += delta;
    part.logprobs.push(...logprobs);
    this.#note(item, delta.length);
  }

  refusal(delta: string): void {
    if (delta === '') return;
    const item = this.#message();
    let part = item.content.at(-1);
    if (part?.type !== 'refusal') {
      this.#closePart(item);
      part = { type: 'refusal', refusal: '' };
      item.content.push(part);
      this.#emit?.(item, messageEvents.partAdded(item));
    }
    this.#emit?.(item, messageEvents.refusalDelta(item, delta));
    part.refusal += delta;
    this.#note(item, delta.length);
  }

  call({ key, id, name = '', own, arguments: json = '' }: CallPiece): void {
    const callId = () => id || this.#options.newCallId();
    const item = this.#calls.get(key) ?? this.#openCall(key, callId(), own ?? { type: 'function', name });
    if (item.type !== 'function_call') {
      this.#inputs.set(item, (this.#inputs.get(item) ?? '') + json);
      return;
    }
    if (json !== '') this.#emit?.(item, callEvents.delta(item, json));
    item.arguments += json;
    this.#note(item, json.length);
  }

  /** Ends every item. An answer without any item has an empty message; one that was cut ends in an incomplete item. */
  close(status: 'completed' | 'incomplete'): void {
    if (this.items.length === 0) this.#openEmptyMessage();
    const last = this.items.at(-1);
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

  #open<T extends OutputItem>(item: T): T {
    if (this.#prose) this.#closeItem(this.#prose, 'completed');
    this.#places.set(item, this.items.length);
    this.items.push(item);
    return item;
  }

  #id(type: string): string {
    return outputItemId(this.#options.responseId, type, this.items.length);
  }

  #message(): MessageItem {
    return this.#prose?.type === 'message' ? this.#prose : this.#openMessage();
  }

  #openMessage(): MessageItem {
    const item: MessageItem = this.#open({
      id: this.#id('message'),
      type: 'message',
      status: 'in_progress',
      role: 'assistant',
      content: [],
    });
    this.#prose = item;
    this.#emit?.(item, messageEvents.added(item));
    return item;
  }

  #openEmptyMessage(): void {
    const item = this.#openMessage();
    item.content.push({ type: 'output_text', text: '', annotations: [], logprobs: [] });
    this.#emit?.(item, messageEvents.partAdded(item));
    this.#note(item, 0);
  }

  #openReasoning(): ReasoningItem {
    const item: ReasoningItem = this.#open({
      id: this.#id('reasoning'),
      type: 'reasoning',
      status: 'in_progress',
      summary: [],
    });
    this.#prose = item;
    this.#emit?.(item, reasoningEvents.added(item));
    item.summary.push({ type: 'summary_text', text: '' });
    this.#emit?.(item, reasoningEvents.partAdded(item));
    return item;
  }

  #openCall(key: number, callId: string, { type, ...own }: OwnName): CallItem {
    const item =
      type === 'function'
        ? this.#openFunction(callId, own)
        : type === 'custom'
          ? this.#openCustom(callId, own)
          : this.#openKnown(callId, type);
    this.#calls.set(key, item);
    return item;
  }

  #openKnown(callId: string, tool: KnownType): KnownCallItem {
    const type = callTypeOf(tool);
    const item: KnownCallItem = this.#open({
      id: this.#id(type),
      type,
      status: 'in_progress',
      call_id: callId,
      ...knownCall(tool, ''),
    });
    this.#emit?.(item, added(item));
    this.#note(item, 0);
    return item;
  }

  /** Gives a call what its arguments say, where that is known only when they are whole. */
  #fill(item: OutputItem): void {
    const json = this.#inputs.get(item) ?? '';
    const tool = calledType(item);
    if (tool) Object.assign(item, knownCall(tool, json));
    else if (item.type === 'custom_tool_call') item.input = inputOf(json);
  }

  #openFunction(callId: string, own: Omit<OwnName, 'type'>): FunctionCallItem {
    const item: FunctionCallItem = this.#open({
      id: this.#id('function_call'),
      type: 'function_call',
      status: 'in_progress',
      call_id: callId,
      ...own,
      arguments: '',
    });
    this.#emit?.(item, callEvents.added(item));
    return item;
  }

  #openCustom(callId: string, own: Omit<OwnName, 'type'>): CustomCallItem {
    const item: CustomCallItem = this.#open({
      id: this.#id('custom_tool_call'),
      type: 'custom_tool_call',
      status: 'in_progress',
      call_id: callId,
      ...own,
      input: '',
    });
    this.#emit?.(item, customEvents.added(item));
    this.#note(item, 0);
    return item;
  }

  #closeItem(item: OutputItem, status: 'completed' | 'incomplete'): void {
    if (item === this.#prose) this.#prose = undefined;
    this.#fill(item);
    if (item.type === 'message') this.#closePart(item);
    else if (item.type === 'reasoning') {
      if (this.#emit) for (const event of reasoningEvents.partDone(item)) this.#emit(item, event);
      item.content = contentOf(item);
    } else if (item.type === 'custom_tool_call') {
      if (this.#emit) for (const event of customEvents.inputDone(item)) this.#emit(item, event);
    } else if (item.type === 'function_call') this.#emit?.(item, callEvents.argumentsDone(item));
    item.status = status;
    this.#emit?.(item, itemDone(item));
  }

  #closePart(item: MessageItem): void {
    if (item.content.length === 0) return;
    if (this.#emit) for (const event of messageEvents.partDone(item)) this.#emit(item, event);
  }
}

function contentOf({ summary }: ReasoningItem): ReasoningItem['content'] {
  return summary.map(({ text }) => ({ type: 'reasoning_text', text }));
}

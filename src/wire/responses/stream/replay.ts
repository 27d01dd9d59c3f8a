import type { TokenLogprob } from '../../chat/chat.ts';
import { freeTextArguments } from '../../chat/free-text.ts';
import { firstEvents } from './from-chat-chunks.ts';
import {
  argumentsDelta,
  contentDone,
  type EventFields,
  itemAdded,
  itemDone,
  logprobsOf,
  type OutputPart,
  partAdded,
  partDelta,
  partDone,
  partsOf,
  type ProseItem,
  textOf,
} from '../answer/item-events.ts';
import { type CallDelta, type CallItem, OutputBuilder, type OutputPiece } from '../answer/output-builder.ts';
import { calledType, definedArguments } from '../defined-tools.ts';
import type { OutputItem, ClientName, ResponseBody, ResponseEvent } from '../responses.ts';

/** Events per list; all events of a long answer together would block the event loop. */
const listLength = 200;

/**
 * Replays the events of a finished response with their original sequence numbers, in lists.
 * @param pieces recorded pieces of the output; null to send whole items
 */
export function* replayEvents(
  body: ResponseBody,
  pieces: readonly OutputPiece[] | null,
): Generator<ResponseEvent[]> {
  let events: ResponseEvent[] = [];
  let next = 0;
  const push = (fields: EventFields) => events.push({ ...fields, sequence_number: next++ });
  for (const event of firstEvents(body)) push(event);
  for (const list of pieces ? inPieces(body, pieces) : body.output.map(wholeItemEvents)) {
    for (const event of list) push(event);
    if (events.length < listLength) continue;
    yield events;
    events = [];
  }
  push(lastEvent(body));
  yield events;
}

function* inPieces(body: ResponseBody, pieces: readonly OutputPiece[]): Generator<EventFields[]> {
  let events: EventFields[] = [];
  const emit = (event: EventFields) => events.push(event);
  const output = new OutputBuilder({ responseId: body.id, emit, newCallId: () => '' });
  const rests = body.output.map(restsOf);
  for (const [index, length] of pieces) {
    addPiece(output, body.output[index]!, index, rests[index]!, length);
    yield events;
    events = [];
  }
  if (body.status === 'completed') output.close('completed');
  else if (body.status === 'incomplete') output.close('incomplete');
  yield events;
}

/** Clients know three last events; a cancelled response fails, with its own status. */
function lastEvent(body: ResponseBody): { type: string; response: ResponseBody } {
  const end = body.status === 'completed' || body.status === 'incomplete' ? body.status : 'failed';
  return { type: `response.${end}`, response: body };
}

/** Rest of a part of an item, or of a call. */
interface Remainder {
  type: OutputPart['type'] | 'call';
  text: string;
  /** Sent with the first piece. */
  logprobs: TokenLogprob[];
}

function restsOf(item: OutputItem): Remainder[] {
  if (item.type === 'message' || item.type === 'reasoning')
    return partsOf(item).map((part) => ({ type: part.type, text: textOf(part), logprobs: logprobsOf(part) }));
  return [{ type: 'call', text: item.type === 'function_call' ? item.arguments : '', logprobs: [] }];
}

/** Adds the next `length` characters of an item. */
function addPiece(
  output: OutputBuilder,
  item: OutputItem,
  key: number,
  rests: Remainder[],
  length: number,
): void {
  while (rests.length > 1 && rests[0]!.text === '') rests.shift();
  const [rest] = rests;
  if (rest === undefined) return;
  const { type, logprobs } = rest;
  const delta = rest.text.slice(0, length);
  rest.text = rest.text.slice(length);
  rest.logprobs = [];
  if (type === 'call') output.addCall({ key, ...callDelta(item as CallItem, delta) });
  else output.addText(type, delta, logprobs);
}

function callDelta(item: CallItem, delta: string): Omit<CallDelta, 'key'> {
  const { call_id: id } = item;
  if (item.type === 'function_call') return { id, clientName: ownName('function', item), arguments: delta };
  if (item.type === 'custom_tool_call')
    return { id, clientName: ownName('custom', item), arguments: freeTextArguments(item.input) };
  const type = calledType(item)!;
  return { id, clientName: { type, name: type }, arguments: definedArguments(item) };
}

function ownName(type: ClientName['type'], { name, namespace }: Omit<ClientName, 'type'>): ClientName {
  return { type, name, ...(namespace !== undefined && { namespace }) };
}

/** Events of a whole item at an index of the output. An item of a failed answer has no end. */
function wholeItemEvents(item: OutputItem, index: number): EventFields[] {
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

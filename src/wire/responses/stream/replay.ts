import type { TokenLogprob } from '../../chat/chat.ts';
import { argumentsOf } from '../../chat/free-text.ts';
import { firstEvents } from './from-chat-chunks.ts';
import type { EventFields } from '../answer/item-events.ts';
import { OutputBuilder } from '../answer/output-builder.ts';
import type { Piece } from '../answer/output-builder.ts';
import { calledType, knownArguments } from '../known-tools.ts';
import { wholeItem } from './whole-item.ts';
import type { KnownCallItem, OutputItem, OwnName, ResponseBody, ResponseEvent } from '../responses.ts';

/** Events that are told together; all of a long answer would keep everybody else waiting. */
const atOnce = 200;

/**
 * The events of a finished response once more, with the numbers they had, in lists that are made one at a time.
 * @param pieces how the output came; null when it came whole
 */
export function* replayed(body: ResponseBody, pieces: readonly Piece[] | null): Generator<ResponseEvent[]> {
  let events: ResponseEvent[] = [];
  let next = 0;
  const push = (fields: EventFields) => events.push({ ...fields, sequence_number: next++ });
  for (const event of firstEvents(body)) push(event);
  for (const told of pieces ? inPieces(body, pieces) : body.output.map(wholeItem)) {
    for (const event of told) push(event);
    if (events.length < atOnce) continue;
    yield events;
    events = [];
  }
  push(lastEvent(body));
  yield events;
}

/** The events of the output, in the pieces in which it came. */
function* inPieces(body: ResponseBody, pieces: readonly Piece[]): Generator<EventFields[]> {
  let events: EventFields[] = [];
  const emit = (event: EventFields) => events.push(event);
  const output = new OutputBuilder({ responseId: body.id, emit, newCallId: () => '' });
  const rests = body.output.map(partsOf);
  for (const [index, length] of pieces) {
    say(output, body.output[index]!, index, rests[index]!, length);
    yield events;
    events = [];
  }
  if (body.status === 'completed') output.close('completed');
  else if (body.status === 'incomplete') output.close('incomplete');
  yield events;
}

/** Clients know three ends; a response that was cancelled says in its status what it is. */
function lastEvent(body: ResponseBody): { type: string; response: ResponseBody } {
  const end = body.status === 'completed' || body.status === 'incomplete' ? body.status : 'failed';
  return { type: `response.${end}`, response: body };
}

interface Part {
  kind: 'text' | 'refusal' | 'reasoning' | 'call';
  text: string;
  /** Told with the first piece. */
  logprobs?: TokenLogprob[];
}

function partsOf(item: OutputItem): Part[] {
  if (item.type === 'function_call') return [{ kind: 'call', text: item.arguments }];
  if (item.type === 'custom_tool_call' || isKnownCall(item)) return [{ kind: 'call', text: '' }];
  if (item.type === 'reasoning') return item.summary.map(({ text }) => ({ kind: 'reasoning', text }));
  return item.content.map((part) =>
    part.type === 'refusal'
      ? { kind: 'refusal', text: part.refusal }
      : { kind: 'text', text: part.text, logprobs: part.logprobs },
  );
}

/** Says the next `length` characters of an item; parts follow one another. */
function say(output: OutputBuilder, item: OutputItem, key: number, rest: Part[], length: number): void {
  while (rest.length > 1 && rest[0]!.text === '') rest.shift();
  const part = rest[0];
  if (part === undefined) return;
  const delta = part.text.slice(0, length);
  part.text = part.text.slice(length);
  const { logprobs } = part;
  part.logprobs = [];
  if (part.kind === 'reasoning') output.reasoning(delta);
  else if (part.kind === 'refusal') output.refusal(delta);
  else if (part.kind === 'text') output.text(delta, logprobs);
  else if (item.type === 'function_call')
    output.call({ key, id: item.call_id, own: ownName('function', item), arguments: delta });
  else if (item.type === 'custom_tool_call')
    output.call({
      key,
      id: item.call_id,
      own: ownName('custom', item),
      arguments: argumentsOf(item.input),
    });
  else if (isKnownCall(item)) {
    const type = calledType(item)!;
    output.call({ key, id: item.call_id, own: { type, name: type }, arguments: knownArguments(item) });
  }
}

function isKnownCall(item: OutputItem): item is KnownCallItem {
  return calledType(item) !== undefined;
}

function ownName(type: OwnName['type'], { name, namespace }: Omit<OwnName, 'type'>): OwnName {
  return { type, name, ...(namespace !== undefined && { namespace }) };
}

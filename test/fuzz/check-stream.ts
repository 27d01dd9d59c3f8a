import type { MessageEvent } from '../../src/wire/messages/messages.ts';
import { collectMessage } from '../support/collect-message.ts';
import { findBodyFault, type Json } from './check-body.ts';

interface Event {
  name: string | undefined;
  data: string;
}

/** Returns the fault of a completely read stream, or undefined. A stream may end with its error event. */
export function findStreamFault(path: string, text: string): string | undefined {
  const events = eventsOf(text);
  if (typeof events === 'string') return events;
  if (events.length === 0) return 'an empty stream';
  try {
    if (path === '/v1/chat/completions') return faultOfChunks(events);
    if (path === '/v1/messages') return faultOfMessage(events);
    return faultOfResponse(events);
  } catch (error) {
    return String(error);
  }
}

function eventsOf(text: string): Event[] | string {
  if (!text.endsWith('\n\n')) return 'ends in the middle of an event';
  const events: Event[] = [];
  for (const block of text.slice(0, -2).split('\n\n')) {
    if (block.startsWith(':')) continue;
    const match = /^(?:event: ([a-z_.]+)\n)?data: ([^\r\n]*)$/.exec(block);
    if (!match) return `not an event: ${JSON.stringify(block.slice(0, 200))}`;
    events.push({ name: match[1], data: match[2]! });
  }
  return events;
}

function faultOfChunks(events: Event[]): string | undefined {
  if (events.some(({ name }) => name !== undefined)) return 'a named event';
  const last = events.at(-1)!.data;
  const chunks: Json[] = events.map(({ data }) => (data === '[DONE]' ? data : JSON.parse(data)));
  if (last !== '[DONE]')
    return chunks.at(-1).error?.message ? undefined : 'neither [DONE] nor an error at the end';
  if (chunks.indexOf('[DONE]') !== chunks.length - 1) return 'goes on after [DONE]';
  const finished = new Map<number, string | null>();
  const calls = new Set<string>();
  const kinds = new Map<number, string>();
  let usages = 0;
  for (const [at, chunk] of chunks.slice(0, -1).entries()) {
    if (chunk.object !== 'chat.completion.chunk' || chunk.id !== chunks[0].id)
      return `chunk ${at} is of another stream`;
    if (chunk.usage) usages += 1;
    if (chunk.choices.length === 0 && !chunk.usage) return `chunk ${at} is empty`;
    if (usages > 0 && at !== chunks.length - 2) return 'goes on after the usage';
    for (const { index, delta, finish_reason: finish } of chunk.choices) {
      if (finished.get(index)) return `choice ${index} goes on after its end`;
      if (!finished.has(index) && delta.role !== 'assistant') return `choice ${index} begins without a role`;
      finished.set(index, finish);
      for (const call of delta.tool_calls ?? []) {
        const key = `${index} ${call.index}`;
        if (calls.has(key) === (call.id !== undefined)) return `call ${key}: its id comes once, and first`;
        calls.add(key);
      }
      const called = delta.function_call ? 'function_call' : delta.tool_calls && 'tool_calls';
      if (called) kinds.set(index, called);
      if (finish && finish !== 'length' && (kinds.get(index) ?? finish.replace(/.*call.*/, '')) !== finish)
        return `choice ${index} ends with ${finish}`;
    }
  }
  if ([...finished.values()].some((finish) => finish === null)) return 'a choice that never ends';
  return undefined;
}

function faultOfMessage(events: Event[]): string | undefined {
  const parsed: Json[] = events.map(({ data }) => JSON.parse(data));
  const misnamed = events.find(({ name }, at) => name !== parsed[at].type);
  if (misnamed) return `an event named ${misnamed.name}`;
  const last = parsed.at(-1);
  if (last.type === 'error') return last.error?.message ? undefined : 'an error without a message';
  const blocks = parsed.filter(({ type }) => type !== 'ping') as MessageEvent[];
  // The arguments of a cut call are incomplete JSON, which clients complete themselves.
  const isCut = parsed.at(-2)?.delta?.stop_reason === 'max_tokens';
  try {
    return findBodyFault('/v1/messages', collectMessage(blocks));
  } catch (error) {
    if (isCut && error instanceof SyntaxError) return undefined;
    throw error;
  }
}

const ends = new Set(['response.completed', 'response.incomplete', 'response.failed']);

function faultOfResponse(events: Event[]): string | undefined {
  const parsed: Json[] = events.map(({ data }) => JSON.parse(data));
  for (const [at, event] of parsed.entries()) {
    if (events[at]!.name !== event.type) return `an event named ${events[at]!.name}`;
    if (event.sequence_number !== at) return `number ${event.sequence_number} at ${at}`;
  }
  const last = parsed.at(-1);
  if (parsed.slice(0, -1).some(({ type }) => ends.has(type) || type === 'error'))
    return 'goes on after its end';
  if (last.type === 'error')
    return last.error?.message && last.message ? undefined : 'an error without a message';
  if (!ends.has(last.type)) return `ends with ${last.type}`;
  if (
    parsed[0].type !== 'response.created' ||
    !parsed.slice(1, 3).some(({ type }) => type === 'response.in_progress')
  )
    return 'no beginning';
  if (last.type !== `response.${last.response.status}`)
    return `${last.type} with the status ${last.response.status}`;
  return (
    faultOfItems(parsed, last.response) ??
    (last.response.background ? undefined : findBodyFault('/v1/responses', last.response))
  );
}

/** Checks that items follow one another and that each equals the sum of its deltas. */
function faultOfItems(events: Json[], response: Json): string | undefined {
  const open = new Map<number, { type: string; id: string; said: string }>();
  const done: Json[] = [];
  let added = 0;
  for (const {
    type,
    output_index: index,
    item,
    item_id: itemId,
    delta,
    text,
    arguments: json,
    refusal,
  } of events) {
    if (type === 'response.output_item.added') {
      if (index !== added++) return `item ${index} added out of turn`;
      open.set(index, { type: item.type, id: item.id, said: '' });
      continue;
    }
    if (index === undefined) continue;
    const current = open.get(index);
    if (!current) return `${type} of an item that is not open`;
    if (itemId !== undefined && itemId !== current.id) return `${type} with the id of another item`;
    if (type.endsWith('part.added')) current.said = '';
    else if (type.endsWith('.delta')) current.said += delta;
    else if (/(output_text|arguments|summary_text|refusal)\.done$/.test(type)) {
      if ((text ?? json ?? refusal) !== current.said) return `${type} differs from its deltas`;
    } else if (type === 'response.output_item.done') {
      open.delete(index);
      done[index] = item;
    }
  }
  if (open.size > 0) return 'an item that never ends';
  if (JSON.stringify(done) !== JSON.stringify(response.output)) return 'items differ from the output';
  return undefined;
}

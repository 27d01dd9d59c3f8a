import type { ChatChunk, ChatChunks, ChatDelta } from '../../../wire/chat/chat.ts';
import { argumentsOf } from '../../../wire/chat/free-text.ts';
import { spoken } from '../../../wire/chat/answer/spoken.ts';
import { argumentsText, type ReadOptions, saidIn, signatureOf, toolCallsOf } from './chat-response.ts';
import { type ChunkReader, readChunks, type StreamOptions } from './chunk-stream.ts';
import { type Fields, fieldsOf, isObject, parsed, stringOr } from '../../../base/fields.ts';
import { finishReason, stopReason } from './finish-reason.ts';
import { readLogprobs } from './logprobs.ts';
import { unusable } from './parse-body.ts';
import { unicode } from './repairs.ts';

interface Choice {
  /** The newest tool call at each of the server's positions; an id is sent with the first piece of each. */
  calls: Map<number, Call>;
  callCount: number;
  /** The calls that have no arguments yet, by their place. */
  empty: Set<number>;
  /** Those of tools with free text, which is told as the one string of a function, by their place. */
  open: Set<number>;
}

interface Call {
  /** Its place among the calls of the answer. */
  index: number;
  /** As the server told it, or empty. */
  id: string;
  name: string;
  /** The arguments that have come. */
  written: string;
}

export interface ChatStreamOptions extends StreamOptions, Pick<ReadOptions, 'newCallId' | 'alternatives'> {}

/**
 * The chunks of a streamed chat completion in the canonical shape. Throws as `readChunks`.
 * @param chunkOf what the events of another format are
 */
export function readChatStream(
  bytes: AsyncIterable<Uint8Array>,
  options: ChatStreamOptions,
  chunkOf?: ChunkReader<never>['chunkOf'],
): ChatChunks {
  const choices = new Map<number, Choice>();
  return readChunks(bytes, options, {
    read: (choice, event) => readChoice(choice, event, choices, options),
    said: ({ delta }) => spoken(delta),
    chunkOf,
  });
}

function readChoice(
  given: Fields,
  event: Fields,
  choices: Map<number, Choice>,
  options: ChatStreamOptions,
): ChatChunk['choices'][number] {
  const index = Number.isInteger(given['index']) ? (given['index'] as number) : 0;
  const begun = choices.get(index);
  const choice: Choice = begun ?? { calls: new Map(), callCount: 0, empty: new Set(), open: new Set() };
  const delta = readDelta(fieldsOf(given['delta'] ?? given['message']), choice, options);
  if (!begun) {
    choices.set(index, choice);
    // Clients that put an answer together refuse one whose first piece has no role; not every server sends it.
    delta.role = 'assistant';
  }
  const logprobs = readLogprobs(given['logprobs'], options.repairs, options.alternatives);
  const told = given['finish_reason'] ?? '';
  if (told === '') return { index, delta, logprobs, finish_reason: null };
  const finish = finishReason(told, choice.callCount > 0, options);
  // Some servers say nothing where a tool takes nothing; clients read JSON there.
  if (finish === 'tool_calls' && choice.empty.size > 0) endCalls(delta, choice.empty, argumentsText(''));
  if (finish === 'tool_calls' && choice.open.size > 0) endCalls(delta, choice.open, freeText.end);
  return { index, delta, logprobs, finish_reason: finish, ...stopReason(given, event) };
}

/** The text of a function's one string around what comes in pieces. */
const freeText = { begin: argumentsOf('').slice(0, -2), end: '"}' };

function endCalls(delta: ChatDelta, places: Set<number>, text: string): void {
  const ends = [...places].map((index) => ({ index, function: { arguments: text } }));
  delta.tool_calls = [...(delta.tool_calls ?? []), ...ends];
  places.clear();
}

function readDelta(given: Fields, choice: Choice, { repairs, newCallId }: ChatStreamOptions): ChatDelta {
  const delta: ChatDelta = {};
  if (given['role'] === 'assistant') delta.role = 'assistant';
  const { content, reasoning } = saidIn(given);
  if (content !== null) delta.content = unicode(content, repairs);
  if (reasoning !== '') delta.reasoning = delta.reasoning_content = unicode(reasoning, repairs);
  const refusal = stringOr(given['refusal'], '');
  if (refusal !== '') delta.refusal = unicode(refusal, repairs);
  const calls = toolCallsOf(given);
  if (calls.length > 0)
    delta.tool_calls = calls.map((call, at) => readCallDelta(fieldsOf(call), at, choice, newCallId));
  return delta;
}

/** Some servers give every call the same position: see `isAnother`. */
function readCallDelta(
  given: Fields,
  at: number,
  choice: Choice,
  newCallId: () => string,
): NonNullable<ChatDelta['tool_calls']>[number] {
  const position = Number.isInteger(given['index']) ? (given['index'] as number) : at;
  const custom = isObject(given['custom']) ? given['custom'] : null;
  const { name, arguments: json } = custom
    ? { name: custom['name'], arguments: escaped(custom['input']) }
    : fieldsOf(given['function']);
  const id = stringOr(given['id'], '');
  const isNamed = typeof name === 'string' && name !== '';
  const piece =
    typeof json === 'string' ? json : json === undefined || json === null ? '' : JSON.stringify(json);
  const begun = choice.calls.get(position);
  if (begun && !(isNamed && isAnother(begun, id, name))) {
    begun.written += piece;
    if (piece !== '') choice.empty.delete(begun.index);
    return { index: begun.index, function: { arguments: piece }, ...signatureOf(given) };
  }
  if (!isNamed) throw unusable('calls a tool without a name');
  const index = choice.callCount++;
  const first = custom ? freeText.begin + piece : piece;
  choice.calls.set(position, { index, id, name, written: first });
  if (custom) choice.open.add(index);
  else if (piece === '') choice.empty.add(index);
  const called = { name, arguments: first };
  return { index, id: id || newCallId(), type: 'function', function: called, ...signatureOf(given) };
}

/** A piece of text as it stands inside of a JSON string. */
function escaped(text: unknown): string {
  return JSON.stringify(stringOr(text, '')).slice(1, -1);
}

/** Whether a piece with a name begins another call: by its id, and where there is none by what the last call is already. */
function isAnother(begun: Call, id: string, name: string): boolean {
  if (id !== '') return id !== begun.id;
  return name !== begun.name || isObject(parsed(begun.written));
}

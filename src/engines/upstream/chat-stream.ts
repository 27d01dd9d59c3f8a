import type { EventSourceMessage } from 'eventsource-parser';
import { ApiError } from '../../core/errors.ts';
import type { ChatChunk, ChatChunks, ChatDelta, PromptUsage } from '../../wire/chat/chat.ts';
import { spoken } from '../../wire/chat/spoken.ts';
import { argumentsText, createdOf, saidIn, signatureOf, toolCallsOf } from './chat-response.ts';
import type { ReadOptions } from './chat-response.ts';
import { fieldsOf, isObject, stringOr } from './fields.ts';
import type { Fields } from './fields.ts';
import { finishReason, stopReason } from './finish-reason.ts';
import { readLogprobs } from './logprobs.ts';
import { parseObject, throwIfError, unusable } from './parse-body.ts';
import { unicode } from './repairs.ts';
import { readEvents } from './sse-events.ts';
import type { RefusalContext } from './status-errors.ts';
import { checkedUsage, count } from './usage.ts';

interface Choice {
  finished: boolean;
  /** The newest tool call at each of the server's positions; an id is sent with the first piece of each. */
  calls: Map<number, Call>;
  callCount: number;
  /** The calls that have no arguments yet, by their place. */
  empty: Set<number>;
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

export interface StreamOptions extends ReadOptions {
  context: RefusalContext;
  /** Called when the stream says that it is complete. */
  finish: () => void;
  /** Called when nothing is missing but that. */
  hurry: () => void;
}

/**
 * The chunks of a streamed chat completion in the canonical shape, the usage by itself at the end (estimated when the
 * server sends none).
 * @throws ApiError `invalid_upstream_response` when the stream ends before every choice had its finish reason
 * (reliability.md, F26) or carries what is not a chunk; for an error inside the stream what its code means
 */
export async function* readChatStream(bytes: AsyncIterable<Uint8Array>, options: StreamOptions): ChatChunks {
  const choices = new Map<number, Choice>();
  const head: Omit<ChatChunk, 'choices' | 'usage'> = {
    id: '',
    object: 'chat.completion.chunk',
    created: 0,
    model: '',
  };
  let usage: unknown;
  let prompt: PromptUsage | undefined;
  let answered = '';
  /** The usage stands by itself in what comes last; `[DONE]` says nothing more, and some servers never say it. */
  let isOver = false;

  function readChunk({ data, event }: EventSourceMessage): ChatChunk | null {
    const fields = parseObject(data);
    if (event === 'error' && fields['error'] === undefined) fields['error'] = { ...fields };
    throwIfError(fields, options.context);
    const counted = options.usageOf(fields);
    if (isObject(counted)) usage = counted;
    if (isObject(fields['prompt_progress'])) {
      // Nothing of the answer: what is told of the prompt goes with its first piece.
      prompt = promptOf(fields['prompt_progress']);
      return null;
    }
    const given = Array.isArray(fields['choices']) ? fields['choices'] : [];
    if (given.length === 0) {
      isOver = isObject(counted) && isComplete();
      return null;
    }
    head.id = stringOr(fields['id'], head.id);
    head.created = createdOf(fields) || head.created;
    head.model = stringOr(fields['model'], head.model);
    const { system_fingerprint: fingerprint } = fields;
    if (typeof fingerprint === 'string') head.system_fingerprint = fingerprint;
    const read = given.map((choice) => readChoice(fieldsOf(choice), fields, choices, options));
    for (const { delta } of read) answered += spoken(delta);
    // Some servers tell the usage with the last piece, and then nothing more.
    if (isObject(counted) && isComplete()) options.hurry();
    const told = { ...head, choices: read, usage: null, ...(prompt && { prompt }) };
    prompt = undefined;
    return told;
  }

  /** The whole answer and what it cost: only the words that say so are missing. */
  const isComplete = () =>
    usage !== undefined && choices.size > 0 && [...choices.values()].every(({ finished }) => finished);

  function readChunks(events: readonly EventSourceMessage[], chunks: ChatChunk[]): void {
    for (const event of events) {
      const chunk = readChunk(event);
      if (chunk) chunks.push(chunk);
    }
  }

  try {
    for await (const events of readEvents(bytes)) {
      const end = events.findIndex(({ data }) => data === '[DONE]');
      const chunks: ChatChunk[] = [];
      try {
        readChunks(end >= 0 ? events.slice(0, end) : events, chunks);
        isOver ||= end >= 0;
        if (isOver) options.finish();
      } finally {
        // What came before a fault is told before it.
        if (chunks.length > 0) yield chunks;
      }
      if (isOver) break;
    }
  } catch (error) {
    if (!isCut(error) || !isComplete()) throw error;
  }

  if (choices.size === 0) throw unusable('is a stream without an answer');
  if ([...choices.values()].some(({ finished }) => !finished)) throw unusable('ended in the middle');
  const checked = checkedUsage(usage, { ...options, answered });
  if (checked.estimated) options.repairs.add('usage estimated');
  yield [{ ...head, choices: [], usage: checked.usage }];
}

/** What llama-server tells while it reads a prompt, `{"total":40,"cache":12,"processed":40,"time_ms":7}`. */
function promptOf({ total, cache }: Fields): PromptUsage | undefined {
  const tokens = count(total);
  if (!tokens) return undefined;
  return {
    prompt_tokens: tokens,
    prompt_tokens_details: { cached_tokens: Math.min(tokens, count(cache) ?? 0) },
  };
}

/** A connection that broke, or fell silent. */
function isCut(error: unknown): boolean {
  return (
    error instanceof ApiError && (error.code === 'upstream_unreachable' || error.code === 'upstream_timeout')
  );
}

function readChoice(
  given: Fields,
  event: Fields,
  choices: Map<number, Choice>,
  options: StreamOptions,
): ChatChunk['choices'][number] {
  const index = Number.isInteger(given['index']) ? (given['index'] as number) : 0;
  const begun = choices.get(index);
  const choice: Choice = begun ?? { finished: false, calls: new Map(), callCount: 0, empty: new Set() };
  const delta = readDelta(fieldsOf(given['delta'] ?? given['message']), choice, options);
  if (!begun) {
    choices.set(index, choice);
    // Clients that put an answer together refuse one whose first piece has no role; not every server sends it.
    delta.role = 'assistant';
  }
  const logprobs = readLogprobs(given['logprobs'], options.repairs, options.alternatives);
  const told = given['finish_reason'] ?? '';
  if (told === '') return { index, delta, logprobs, finish_reason: null };
  choice.finished = true;
  const finish = finishReason(told, choice.callCount > 0, options.finishes);
  // Some servers say nothing where a tool takes nothing; clients read JSON there.
  if (finish === 'tool_calls' && choice.empty.size > 0) {
    const nothing = { arguments: argumentsText('') };
    delta.tool_calls = [
      ...(delta.tool_calls ?? []),
      ...[...choice.empty].map((call) => ({ index: call, function: nothing })),
    ];
    choice.empty.clear();
  }
  return { index, delta, logprobs, finish_reason: finish, ...stopReason(given, event) };
}

function readDelta(given: Fields, choice: Choice, { repairs, newCallId }: StreamOptions): ChatDelta {
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
  const { name, arguments: json } = fieldsOf(given['function']);
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
  choice.calls.set(position, { index, id, name, written: piece });
  if (piece === '') choice.empty.add(index);
  const called = { name, arguments: piece };
  return { index, id: id || newCallId(), type: 'function', function: called, ...signatureOf(given) };
}

/** Whether a piece with a name begins another call: by its id, and where there is none by what the last call is already. */
function isAnother(begun: Call, id: string, name: string): boolean {
  if (id !== '') return id !== begun.id;
  return name !== begun.name || isWhole(begun.written);
}

function isWhole(json: string): boolean {
  try {
    return isObject(JSON.parse(json));
  } catch {
    return false;
  }
}

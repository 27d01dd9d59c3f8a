import type { EventSourceMessage } from 'eventsource-parser';
import { ApiError } from '../../../core/errors.ts';
import type { ChatChunk, ChatUsage, FinishReason, PromptUsage } from '../../../wire/chat/chat.ts';
import { promptUsage } from '../../../wire/chat/usage.ts';
import { estimateText } from '../../../wire/chat/request/estimate-prompt.ts';
import { createdOf, type ReadOptions } from './chat-response.ts';
import { type Fields, fieldsOf, isObject, stringOr } from '../../../base/fields.ts';
import { filteredChoices } from './given-choices.ts';
import { parseObject, throwIfError, unusable } from '../connection/parse-body.ts';
import { readEvents } from './sse-events.ts';
import type { RefusalContext } from '../connection/status-errors.ts';
import { checkedUsage } from './usage.ts';
import { count } from './usage-figures.ts';

export interface StreamOptions extends Omit<ReadOptions, 'newCallId' | 'alternatives'> {
  context: RefusalContext;
  /** Called at the end marker of the stream. */
  finish: () => void;
  /** Called when only the end marker is missing. */
  expectEnd: () => void;
}

/** Reader of chat or text chunks. */
export interface ChunkReader<Piece> {
  /** @param event the whole chunk */
  read: (choice: Fields, event: Fields) => Piece;
  /** Text that a piece adds to the answer. */
  textOf: (piece: Piece) => string;
  /** Converts an event of another format to a chat chunk; null skips it. */
  chunkOf?: ((event: EventSourceMessage) => Fields | null) | undefined;
}

interface AnyPiece {
  index: number;
  finish_reason: FinishReason | null;
}

interface Chunk<Piece> extends Omit<ChatChunk, 'choices' | 'usage'> {
  choices: Piece[];
  usage: ChatUsage | null;
}

/**
 * Reads the chunks of a streamed answer, with the usage alone at the end (estimated if the server sends none).
 * @throws ApiError `invalid_upstream_response` where the stream ends before every choice has its finish reason (F26) or holds
 * anything but chunks; for an error inside the stream, the error of its code
 */
export async function* readChunks<Piece extends AnyPiece>(
  bytes: AsyncIterable<Uint8Array>,
  options: StreamOptions,
  { read, textOf, chunkOf = (event) => fieldsIn(event, options.context) }: ChunkReader<Piece>,
): AsyncGenerator<Chunk<Piece>[]> {
  /** Choices, and true for those with a finish reason. */
  const finished = new Map<number, boolean>();
  const head: Omit<Chunk<Piece>, 'choices' | 'usage'> = {
    id: '',
    object: 'chat.completion.chunk',
    created: 0,
    model: '',
  };
  let usage: unknown;
  let prompt: PromptUsage | undefined;
  let text = '';
  let hasEnded = false;
  /** True where the server ended the stream, which had chunks, without any choice. */
  let lacksChoices = false;
  let hasEmptyChunks = false;

  /** True once the answer and its usage are complete. */
  const isComplete = () => usage !== undefined && finished.size > 0 && [...finished.values()].every(Boolean);

  function end(): null {
    hasEnded = true;
    options.finish();
    return null;
  }

  function readChunk(event: EventSourceMessage): Chunk<Piece> | null {
    if (event.data === '[DONE]') {
      lacksChoices = hasEmptyChunks && finished.size === 0;
      return end();
    }
    const fields = chunkOf(event);
    if (!fields) return null;
    const reported = options.usageOf(fields);
    if (isObject(reported)) usage = reported;
    if (isObject(fields['prompt_progress'])) {
      // Attached to the first piece of the answer.
      prompt = promptOf(fields['prompt_progress']);
      return null;
    }
    const given = Array.isArray(fields['choices']) ? fields['choices'] : [];
    // The usage comes alone at the end; some servers never send `[DONE]`.
    if (given.length === 0) {
      hasEmptyChunks ||= Array.isArray(fields['choices']);
      return isObject(reported) && isComplete() ? end() : null;
    }
    head.id = stringOr(fields['id'], head.id);
    head.created = createdOf(fields) || head.created;
    head.model = stringOr(fields['model'], head.model);
    const { system_fingerprint: fingerprint } = fields;
    if (typeof fingerprint === 'string') head.system_fingerprint = fingerprint;
    const choices = given.map((choice) => read(fieldsOf(choice), fields));
    for (const piece of choices) {
      finished.set(piece.index, finished.get(piece.index) === true || piece.finish_reason !== null);
      text += textOf(piece);
    }
    // Some servers send the usage with the last piece, and nothing after it.
    if (isObject(reported) && isComplete()) options.expectEnd();
    const chunk = { ...head, choices, usage: null, ...(prompt && { prompt }) };
    prompt = undefined;
    return chunk;
  }

  try {
    for await (const chunks of readEvents(bytes, readChunk, () => hasEnded)) yield chunks;
  } catch (error) {
    if (!isDisconnect(error) || !isComplete()) throw error;
  }

  // The server's filter removed the prompt (`given-choices.ts`).
  if (lacksChoices)
    yield filteredChoices(options.choices).map((one) => ({ ...head, choices: [read(one, {})], usage: null }));
  else if (finished.size === 0) throw unusable('is a stream without choices');
  if (![...finished.values()].every(Boolean)) throw unusable('ended early');
  const total = checkedUsage(usage, { ...options, estimateAnswer: () => estimateText(text) });
  yield [{ ...head, choices: [], usage: total }];
}

function fieldsIn({ data, event }: EventSourceMessage, context: RefusalContext): Fields {
  const fields = parseObject(data);
  if (event === 'error' && fields['error'] === undefined) fields['error'] = { ...fields };
  throwIfError(fields, context);
  return fields;
}

/** Progress of llama-server on a prompt: `{"total":40,"cache":12,"processed":40,"time_ms":7}`. */
function promptOf({ total, cache }: Fields): PromptUsage | undefined {
  const tokens = count(total);
  return tokens ? promptUsage(tokens, Math.min(tokens, count(cache) ?? 0)) : undefined;
}

/** True for a connection that broke or paused too long. */
function isDisconnect(error: unknown): boolean {
  return error instanceof ApiError && ['upstream_unreachable', 'upstream_timeout'].includes(error.code);
}

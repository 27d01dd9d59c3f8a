import type { EventSourceMessage } from 'eventsource-parser';
import { ApiError } from '../../../core/errors.ts';
import type { ChatChunk, ChatUsage, FinishReason, PromptUsage } from '../../../wire/chat/chat.ts';
import { promptUsage } from '../../../wire/chat/usage.ts';
import { estimateText } from '../../../wire/chat/request/estimate-prompt.ts';
import { createdOf, type ReadOptions } from './chat-response.ts';
import { type Fields, fieldsOf, isObject, stringOr } from '../../../base/fields.ts';
import { filteredChoices } from './given-choices.ts';
import { parseObject, throwIfError, unusable } from '../connection/parse-body.ts';
import { readEach } from './sse-events.ts';
import type { RefusalContext } from '../connection/status-errors.ts';
import { checkedUsage } from './usage.ts';
import { count } from './usage-figures.ts';

export interface StreamOptions extends Omit<ReadOptions, 'newCallId' | 'alternatives'> {
  context: RefusalContext;
  /** Called when the stream says that it is complete. */
  finish: () => void;
  /** Called when nothing is missing but that. */
  expectEnd: () => void;
}

/** How a stream is read, of chats or of texts. */
export interface ChunkReader<Piece> {
  /** @param event the whole chunk */
  read: (choice: Fields, event: Fields) => Piece;
  /** What a piece adds to the answer. */
  said: (piece: Piece) => string;
  /** What an event of another format is as a chunk of chat completions; null for nothing. It is one itself if absent. */
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
 * The chunks of a streamed answer, the usage by itself at the end (estimated when the server sends none).
 * @throws ApiError `invalid_upstream_response` when the stream ends before every choice had its finish reason
 * (reliability.md, F26) or carries what is not a chunk; for an error inside the stream what its code means
 */
export async function* readChunks<Piece extends AnyPiece>(
  bytes: AsyncIterable<Uint8Array>,
  options: StreamOptions,
  { read, said, chunkOf = (event) => fieldsIn(event, options.context) }: ChunkReader<Piece>,
): AsyncGenerator<Chunk<Piece>[]> {
  /** Whether each choice had its finish reason. */
  const finished = new Map<number, boolean>();
  const head: Omit<Chunk<Piece>, 'choices' | 'usage'> = {
    id: '',
    object: 'chat.completion.chunk',
    created: 0,
    model: '',
  };
  let usage: unknown;
  let prompt: PromptUsage | undefined;
  let answered = '';
  let isOver = false;
  /** True if the server ended the stream without any choice. */
  let isEmpty = false;
  let hasEmptyChunks = false;

  /** The whole answer and what it cost: only the words that say so are missing. */
  const isComplete = () => usage !== undefined && finished.size > 0 && [...finished.values()].every(Boolean);

  function end(): null {
    isOver = true;
    options.finish();
    return null;
  }

  function readChunk(event: EventSourceMessage): Chunk<Piece> | null {
    if (event.data === '[DONE]') {
      isEmpty = hasEmptyChunks && finished.size === 0;
      return end();
    }
    const fields = chunkOf(event);
    if (!fields) return null;
    const counted = options.usageOf(fields);
    if (isObject(counted)) usage = counted;
    if (isObject(fields['prompt_progress'])) {
      // Nothing of the answer: what is told of the prompt goes with its first piece.
      prompt = promptOf(fields['prompt_progress']);
      return null;
    }
    const given = Array.isArray(fields['choices']) ? fields['choices'] : [];
    // The usage stands by itself in what comes last; `[DONE]` says nothing more, and some servers never say it.
    if (given.length === 0) {
      hasEmptyChunks ||= Array.isArray(fields['choices']);
      return isObject(counted) && isComplete() ? end() : null;
    }
    head.id = stringOr(fields['id'], head.id);
    head.created = createdOf(fields) || head.created;
    head.model = stringOr(fields['model'], head.model);
    const { system_fingerprint: fingerprint } = fields;
    if (typeof fingerprint === 'string') head.system_fingerprint = fingerprint;
    const choices = given.map((choice) => read(fieldsOf(choice), fields));
    for (const piece of choices) {
      finished.set(piece.index, finished.get(piece.index) === true || piece.finish_reason !== null);
      answered += said(piece);
    }
    // Some servers tell the usage with the last piece, and then nothing more.
    if (isObject(counted) && isComplete()) options.expectEnd();
    const told = { ...head, choices, usage: null, ...(prompt && { prompt }) };
    prompt = undefined;
    return told;
  }

  try {
    for await (const chunks of readEach(bytes, readChunk, () => isOver)) yield chunks;
  } catch (error) {
    if (!isCut(error) || !isComplete()) throw error;
  }

  // The server's filter took the prompt (`given-choices.ts`).
  if (isEmpty)
    yield filteredChoices(options.wanted).map((choice) => ({
      ...head,
      choices: [read(choice, {})],
      usage: null,
    }));
  else if (finished.size === 0) throw unusable('is a stream without an answer');
  if (![...finished.values()].every(Boolean)) throw unusable('ended in the middle');
  yield [
    {
      ...head,
      choices: [],
      usage: checkedUsage(usage, { ...options, answered: () => estimateText(answered) }),
    },
  ];
}

function fieldsIn({ data, event }: EventSourceMessage, context: RefusalContext): Fields {
  const fields = parseObject(data);
  if (event === 'error' && fields['error'] === undefined) fields['error'] = { ...fields };
  throwIfError(fields, context);
  return fields;
}

/** What llama-server tells while it reads a prompt, `{"total":40,"cache":12,"processed":40,"time_ms":7}`. */
function promptOf({ total, cache }: Fields): PromptUsage | undefined {
  const tokens = count(total);
  return tokens ? promptUsage(tokens, Math.min(tokens, count(cache) ?? 0)) : undefined;
}

/** A connection that broke, or fell silent. */
function isCut(error: unknown): boolean {
  return (
    error instanceof ApiError && (error.code === 'upstream_unreachable' || error.code === 'upstream_timeout')
  );
}

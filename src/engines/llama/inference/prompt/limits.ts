import { sum } from '../../../../base/sum.ts';
import { ApiError, invalid } from '../../../../core/errors.ts';
import type { ChatRequest } from '../../../../wire/chat/chat.ts';
import type { Vocabulary } from '../vocabulary.ts';

/** How many tokens a request may generate. */
export interface TokenLimit {
  tokens: number;
  /** The request field that set it, or null when the context did. */
  field: 'max_completion_tokens' | 'max_tokens' | null;
}

/** Throws 400 `context_length_exceeded` when not even one token fits behind the prompt. */
export function tokenLimit(
  request: Pick<ChatRequest, 'max_tokens' | 'max_completion_tokens'>,
  promptTokens: number,
  contextLength: number,
  param = 'messages',
): TokenLimit {
  const room = contextLength - promptTokens;
  if (room < 1)
    throw new ApiError(
      'context_length_exceeded',
      `The prompt has ${promptTokens} tokens, and this model's context holds ${contextLength}, ` +
        `of which at least 1 must be left for the answer. ${shorten(param)}`,
      { param },
    );
  const field = typeof request.max_completion_tokens === 'number' ? 'max_completion_tokens' : 'max_tokens';
  const asked = request[field] ?? Infinity;
  return asked <= room ? { tokens: asked, field } : { tokens: room, field: null };
}

const shorten = (param: string): string => `Shorten ${param === 'messages' ? 'the messages' : param}.`;

/** Characters a token of which more is taken for a text that may be far too long. */
const fewPerToken = 6;
/** What a text that may be too long is read in: tokenizing it whole would keep everybody else waiting. */
const sliceLength = 16_384;

/** A piece of a prompt. */
export interface Part {
  text: string;
  /** Whether control tokens that it spells out are those tokens. */
  isTemplate: boolean;
}

/** The tokens of a prompt. Throws 400 `context_length_exceeded` for one that is not read to its end, as it is much too long. */
export function readPrompt(
  parts: readonly Part[],
  { tokenize, bos }: Pick<Vocabulary, 'tokenize' | 'bos'>,
  contextLength: number,
  param = 'messages',
): number[] {
  refuseEndless(parts, tokenize, contextLength, param);
  const tokens = parts.flatMap(({ text, isTemplate }) => tokenize(text, isTemplate));
  return bos === undefined || tokens[0] === bos ? tokens : [bos, ...tokens];
}

/**
 * Refuses a prompt that is so much over the context that it is not read to its end. Tokens of slices are a few more than those
 * of the whole, and never twice as many.
 */
function refuseEndless(
  parts: readonly Part[],
  tokenize: Vocabulary['tokenize'],
  contextLength: number,
  param: string,
): void {
  const length = sum(parts.map(({ text }) => text.length));
  if (length <= fewPerToken * contextLength) return;
  const most = 2 * contextLength;
  let tokens = 0;
  for (const { text, isTemplate } of parts)
    for (let at = 0; at < text.length; at += sliceLength) {
      tokens += tokenize(text.slice(at, at + sliceLength), isTemplate).length;
      if (tokens > most)
        throw new ApiError(
          'context_length_exceeded',
          `The prompt has more than ${most} tokens, and this model's context holds ${contextLength}. ${shorten(param)}`,
          { param },
        );
    }
}

/** Token ids that a client sent. */
export function knownTokens(ids: readonly number[], param: string, vocabularySize: number): number[] {
  const wrong = ids.findIndex((id) => !Number.isInteger(id) || id < 0 || id >= vocabularySize);
  if (wrong === -1) return [...ids];
  throw invalid(`${param}[${wrong}]`, `must be a token id of this model, 0 to ${vocabularySize - 1}`);
}

import { sum } from '../../../../base/sum.ts';
import { ApiError, invalid } from '../../../../core/errors.ts';
import type { ChatRequest } from '../../../../wire/chat/chat.ts';
import type { Vocabulary } from '../vocabulary.ts';

/** Number of tokens that a request may generate. */
export interface TokenLimit {
  tokens: number;
  /** Request field that set the limit, or null for the context. */
  field: 'max_completion_tokens' | 'max_tokens' | null;
}

/** @throws ApiError `context_length_exceeded` if no token fits after the prompt */
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

/** Characters per token above which a text may be far too long. */
const suspectCharacters = 6;
/** Characters of such a text tokenized per call, because tokenizing it whole would block other requests. */
const sliceLength = 16_384;

export interface Part {
  text: string;
  /** Texts of control tokens in it are those tokens. */
  isTemplate: boolean;
}

/** Tokens of a prompt. @throws ApiError `context_length_exceeded` for a prompt of more than twice the context */
export function readPrompt(
  parts: readonly Part[],
  { tokenize, bos }: Pick<Vocabulary, 'tokenize' | 'bos'>,
  contextLength: number,
  param = 'messages',
): number[] {
  rejectOversized(parts, tokenize, contextLength, param);
  const tokens = parts.flatMap(({ text, isTemplate }) => tokenize(text, isTemplate));
  return bos === undefined || tokens[0] === bos ? tokens : [bos, ...tokens];
}

/** Stops tokenizing a prompt at twice the context. Slices have a few more tokens than the whole, never twice as many. */
function rejectOversized(
  parts: readonly Part[],
  tokenize: Vocabulary['tokenize'],
  contextLength: number,
  param: string,
): void {
  const length = sum(parts.map(({ text }) => text.length));
  if (length <= suspectCharacters * contextLength) return;
  const max = 2 * contextLength;
  let tokens = 0;
  for (const { text, isTemplate } of parts)
    for (let at = 0; at < text.length; at += sliceLength) {
      tokens += tokenize(text.slice(at, at + sliceLength), isTemplate).length;
      if (tokens > max)
        throw new ApiError(
          'context_length_exceeded',
          `The prompt has more than ${max} tokens, and this model's context holds ${contextLength}. ${shorten(param)}`,
          { param },
        );
    }
}

/** Checks the token IDs of a client. */
export function knownTokens(ids: readonly number[], param: string, vocabularySize: number): number[] {
  const wrong = ids.findIndex((id) => !Number.isInteger(id) || id < 0 || id >= vocabularySize);
  if (wrong === -1) return [...ids];
  throw invalid(`${param}[${wrong}]`, `must be a token id of this model, 0 to ${vocabularySize - 1}`);
}

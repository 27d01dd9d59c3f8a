import type { BatchEndpoint } from '../../core/batch.ts';
import type { Fault } from '../../core/errors.ts';
import type { DirectKind, Serves } from '../../core/model.ts';
import type { PreparedRequest, PreparedChat } from '../prepared/prepared-request.ts';
import type { ChatRequest, ChatResponse } from '../chat/chat.ts';
import type { ChatBody } from '../chat/request/body.ts';
import { type CanonicalChat, canonicalChat } from '../chat/request/canonical.ts';
import { presentChat } from '../chat/answer/present.ts';
import { checkChatRequest } from '../chat/request/request.ts';
import { type CompletionsRequest, defaultMaxTokens } from '../completions/completions.ts';
import { answersPerPrompt, checkCompletionsRequest } from '../completions/request.ts';
import { directFormats } from '../direct/direct-formats.ts';
import type { LineResponse } from './line-response.ts';
import type { ErrorFormat } from '../errors/error-body.ts';
import type { JsonBody } from '../json/json-body.ts';
import { prepareMessage } from '../messages/answer/prepare-message.ts';
import type { MessagesRequest } from '../messages/messages.ts';
import { checkMessagesRequest, withExactInputs } from '../messages/request/request.ts';
import { toChatRequest as fromMessages } from '../messages/request/to-chat-request.ts';
import { faultMapper, remapError, type PathMap } from '../shared/path-map.ts';
import { prepareResponseLine, checkResponsesLine, lineChat } from '../responses/line.ts';
import type { ResponsesRequest } from '../responses/responses.ts';
import { splitTextInputs, type TextInput } from '../shared/text-inputs.ts';
import type { Validator } from '../schema/validate.ts';

type Body = Record<string, unknown>;

/** Rules of an endpoint's lines: all that a batch needs of a format. */
export interface LineFormat {
  serves: Serves;
  errors: ErrorFormat;
  check: Validator;
  /**
   * Prompt of a checked body, for ordering lines, estimating tokens and checking schemas.
   * @throws ApiError `validation_error` for faults that only the conversion finds
   */
  prompt(body: Body): LinePrompt | null;
  /** Paths of images that are named by URL, in a checked body without a prompt. */
  imageUrlPaths?(body: Body): Iterable<string>;
  /** @param response set if the line is a single request for a response */
  prepare(body: JsonBody<Body>, response?: LineResponse): PreparedRequest;
}

/** Prompt of a line as a chat request. */
export interface LinePrompt {
  chat: ChatBody;
  /** Estimated tokens of the answer. */
  output: number;
  /** Maps the path of a fault in `chat` to the line's body. */
  mapFault: (fault: Fault) => Fault;
}

/** Upper bound of the estimated tokens per answer, because the longest answers are rare. */
const assumedTokens = 512;

/** Prepared line for chat completions. Holds only the body, which may be released. */
class ChatLine implements PreparedChat {
  readonly kind = 'chat';
  readonly native = null;
  readonly #canonical: CanonicalChat;

  constructor(canonical: CanonicalChat) {
    this.#canonical = canonical;
  }

  get chat(): ChatRequest {
    return this.#canonical.body.value;
  }

  request(): JsonBody<ChatRequest> {
    return this.#canonical.body;
  }

  present(answer: ChatResponse): object {
    return presentChat(answer, this.#canonical.calls);
  }

  mapError(error: unknown): unknown {
    const { body, paths } = this.#canonical;
    return paths.size === 0 ? error : remapError(error, body.value, paths);
  }
}

const asItIs = <T>(value: T): T => value;

const chatPrompt = (request: object, mapFault: LinePrompt['mapFault']): LinePrompt => {
  const chat = request as ChatBody;
  const maxTokens = (chat['max_completion_tokens'] ?? chat['max_tokens'] ?? assumedTokens) as number;
  const answers = (chat['n'] ?? 1) as number;
  return { chat, output: Math.min(maxTokens, assumedTokens) * answers, mapFault };
};

const convertedPrompt = ({ chat, paths }: { chat: object; paths: PathMap }): LinePrompt =>
  chatPrompt(chat, faultMapper(chat, paths));

export const lineFormats: Record<BatchEndpoint, LineFormat> = {
  '/v1/chat/completions': {
    serves: 'chat',
    errors: 'chat',
    check: checkChatRequest,
    prompt: (body) => chatPrompt(body, asItIs),
    prepare: (body) => new ChatLine(canonicalChat(body as unknown as JsonBody<ChatBody>)),
  },
  '/v1/embeddings': directLine('embeddings'),
  '/v1/responses': {
    serves: 'chat',
    errors: 'chat',
    check: checkResponsesLine,
    prompt(body) {
      const { chat, paths } = lineChat(body as unknown as ResponsesRequest);
      return convertedPrompt({ chat, paths: paths() });
    },
    prepare: (body, response) =>
      prepareResponseLine(body as unknown as JsonBody<ResponsesRequest>, response?.begun),
  },
  '/v1/messages': {
    serves: 'chat',
    errors: 'messages',
    check: checkMessagesRequest,
    prompt: (body) => convertedPrompt(fromMessages(body as unknown as MessagesRequest)),
    prepare: ({ value, text }) =>
      prepareMessage(withExactInputs(value as unknown as MessagesRequest, text), text, 'batch'),
  },
  '/v1/completions': {
    serves: 'completions',
    errors: 'chat',
    check: checkCompletionsRequest,
    prompt: (body) => completionPrompt(body as unknown as CompletionsRequest),
    prepare: (body) => ({
      kind: 'completions',
      request: () => body as unknown as JsonBody<CompletionsRequest>,
      mapError: asItIs,
    }),
  },
  '/v1/rerank': directLine('rerank'),
  '/v1/score': directLine('score'),
  '/v1/moderations': directLine('moderations'),
};

/** Lines without a prompt: no cache of an engine is reused for them. */
function directLine(kind: DirectKind): LineFormat {
  const { check, imageUrlPaths } = directFormats[kind];
  return {
    serves: kind,
    errors: 'chat',
    check,
    prompt: () => null,
    ...(imageUrlPaths && { imageUrlPaths: (body) => imageUrlPaths(body as never) }),
    prepare: (body) => ({ kind, request: () => body, mapError: asItIs }) as unknown as PreparedRequest,
  };
}

/** Several prompts are ordered by the first. */
function completionPrompt(request: CompletionsRequest): LinePrompt {
  const { model, prompt, max_tokens: maxTokens } = request;
  const inputs = splitTextInputs('prompt', prompt);
  const [{ input }] = inputs as [TextInput];
  const content = typeof input === 'string' ? input : input.join();
  const output =
    Math.min(maxTokens ?? defaultMaxTokens, assumedTokens) * inputs.length * answersPerPrompt(request);
  return { chat: { model, messages: [{ role: 'user', content }] }, output, mapFault: asItIs };
}

import type { BatchEndpoint } from '../../core/batch.ts';
import type { Fault } from '../../core/errors.ts';
import type { Serves } from '../../core/model.ts';
import type { PreparedRequest, PreparedChat } from '../prepared/prepared-request.ts';
import type { ChatRequest, ChatResponse } from '../chat/chat.ts';
import type { ChatBody } from '../chat/request/body.ts';
import { type CanonicalChat, canonicalChat } from '../chat/request/canonical.ts';
import { presentChat } from '../chat/answer/present.ts';
import { checkChatRequest } from '../chat/request/request.ts';
import { type CompletionsRequest, defaultMaxTokens } from '../completions/completions.ts';
import { answersPerPrompt, checkCompletionsRequest } from '../completions/request.ts';
import type { EmbeddingsRequest } from '../embeddings/embeddings.ts';
import { checkEmbeddingsRequest } from '../embeddings/request.ts';
import type { ErrorFormat } from '../errors/error-body.ts';
import type { JsonBody } from '../json/json-body.ts';
import { prepareMessage } from '../messages/answer/prepare-message.ts';
import type { MessagesRequest } from '../messages/messages.ts';
import { checkMessagesRequest, withExactInputs } from '../messages/request/request.ts';
import { toChatRequest as fromMessages } from '../messages/request/to-chat-request.ts';
import { faultMapper, remapError, type PathMap } from '../shared/path-map.ts';
import { prepareResponseLine, checkResponsesLine, lineChat } from '../responses/line.ts';
import { checkResponsesRequest } from '../responses/request/request.ts';
import type { ResponsesRequest } from '../responses/responses.ts';
import { splitTextInputs, type TextInput } from '../shared/text-inputs.ts';
import type { Validator } from '../schema/validate.ts';

type Body = Record<string, unknown>;

/** What the lines of an endpoint are: all that a batch has to know of a format. */
export interface LineFormat {
  serves: Serves;
  /** Which names errors have. */
  errors: ErrorFormat;
  /** Every fault of a body; paths start there. */
  check(body: Body): Fault[];
  /** Compiles what that needs, which takes the first line long otherwise. */
  compile: Validator['compile'];
  /**
   * The prompt of a checked body, by which lines are put in order, their tokens estimated and their schemas tried.
   * @throws ApiError `validation_error` for what only shows there
   */
  prompt(body: Body): LinePrompt | null;
  /** A checked body, ready to be answered. */
  prepare(body: JsonBody<Body>): PreparedRequest;
}

/** What is asked, as a chat, and a fault of that in the paths of the body. */
export interface LinePrompt {
  chat: ChatBody;
  /** Tokens that its answer is taken to have. */
  output: number;
  mapFault: (fault: Fault) => Fault;
}

/** What a line is taken to produce at most; the longest answers are rare (batch-engine.md). */
const assumedTokens = 512;

/** Nothing of the body is held but the body, which may be let go. */
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

const prompted = (given: object, mapFault: LinePrompt['mapFault']): LinePrompt => {
  const chat = given as ChatBody;
  const most = (chat['max_completion_tokens'] ?? chat['max_tokens'] ?? assumedTokens) as number;
  const answers = (chat['n'] ?? 1) as number;
  return { chat, output: Math.min(most, assumedTokens) * answers, mapFault };
};

const placed = ({ chat, paths }: { chat: object; paths: PathMap }): LinePrompt =>
  prompted(chat, faultMapper(chat, paths));

export const lineFormats: Record<BatchEndpoint, LineFormat> = {
  '/v1/chat/completions': {
    serves: 'chat',
    errors: 'chat',
    check: checkChatRequest,
    compile: checkChatRequest.compile,
    prompt: (body) => prompted(body, asItIs),
    prepare: (body) => new ChatLine(canonicalChat(body as unknown as JsonBody<ChatBody>)),
  },
  '/v1/embeddings': {
    serves: 'embeddings',
    errors: 'chat',
    check: checkEmbeddingsRequest,
    compile: checkEmbeddingsRequest.compile,
    prompt: () => null,
    prepare: (body) => ({
      kind: 'embeddings',
      request: () => body as unknown as JsonBody<EmbeddingsRequest>,
      mapError: asItIs,
    }),
  },
  '/v1/responses': {
    serves: 'chat',
    errors: 'chat',
    check: checkResponsesLine,
    compile: checkResponsesRequest.compile,
    prompt(body) {
      const { chat, paths } = lineChat(body as unknown as ResponsesRequest);
      return placed({ chat, paths: paths() });
    },
    prepare: (body) => prepareResponseLine(body as unknown as JsonBody<ResponsesRequest>),
  },
  '/v1/messages': {
    serves: 'chat',
    errors: 'messages',
    check: checkMessagesRequest,
    compile: checkMessagesRequest.compile,
    prompt: (body) => placed(fromMessages(body as unknown as MessagesRequest)),
    prepare: ({ value, text }) =>
      prepareMessage(withExactInputs(value as unknown as MessagesRequest, text), text),
  },
  '/v1/completions': {
    serves: 'completions',
    errors: 'chat',
    check: checkCompletionsRequest,
    compile: checkCompletionsRequest.compile,
    prompt: (body) => rawPrompt(body as unknown as CompletionsRequest),
    prepare: (body) => ({
      kind: 'completions',
      request: () => body as unknown as JsonBody<CompletionsRequest>,
      mapError: asItIs,
    }),
  },
};

/** Of several prompts the first tells where a line belongs. */
function rawPrompt(request: CompletionsRequest): LinePrompt {
  const { model, prompt, max_tokens: most } = request;
  const inputs = splitTextInputs('prompt', prompt);
  const [{ input }] = inputs as [TextInput];
  const content = typeof input === 'string' ? input : input.join();
  const output =
    Math.min(most ?? defaultMaxTokens, assumedTokens) * inputs.length * answersPerPrompt(request);
  return { chat: { model, messages: [{ role: 'user', content }] }, output, mapFault: asItIs };
}

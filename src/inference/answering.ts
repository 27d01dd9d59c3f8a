import { type Clock, unixSeconds } from '../base/clock.ts';
import type { Ids } from '../base/ids.ts';
import type { Log } from '../base/log.ts';
import type { ApiError } from '../core/errors.ts';
import type { Model } from '../core/model.ts';
import { noUsage, type Usage } from '../core/usage.ts';
import type { Engine, EngineCall, NativeRequest, ApiFormat } from '../engines/engines.ts';
import type { AnswerIdentity, NativeAnswer } from '../wire/prepared/prepared-request.ts';
import type { ChatMessage, ChatRequest, ChatResponse, ChatUsage, Tool } from '../wire/chat/chat.ts';
import type {
  CompletionChoice,
  CompletionsRequest,
  CompletionsResponse,
} from '../wire/completions/completions.ts';
import type { EmbeddingsRequest, EmbeddingsResponse } from '../wire/embeddings/embeddings.ts';
import { embeddingsResponse } from '../wire/embeddings/response.ts';
import type { JsonBody } from '../wire/json/json-body.ts';
import type { ServedModel } from './inference.ts';
import { requireInputs } from './inputs.ts';
import { createPromise, type Promised } from './guarantees/promise.ts';
import { keepsItself } from './guarantees/rule.ts';
import type { Asking } from './guarantees/ways.ts';
import type { Schemas } from './schemas/schemas.ts';

/** An answer as its client sees it, and what is paid for it. */
export interface Answered<Body> {
  body: Body;
  usage: Usage;
}

export interface AnsweringDeps {
  schemas: Schemas;
  clock: Clock;
  ids: Ids;
  log: Log;
}

export type Answering = ReturnType<typeof createAnswering>;

/** Answers of engines under our ids and the public names of their models, whoever asks for them. */
export function createAnswering({ schemas, clock, ids, log }: AnsweringDeps) {
  const newCallId = () => ids.next('call_');

  /** What is asked to keep a promise. */
  const asking = (engine: Engine, model: Model, request: JsonBody<ChatRequest>): Asking => ({
    engine,
    request,
    newCallId,
    noteMiss: ({ code, message }: ApiError) =>
      log.debug({ model: model.id, code }, `an answer was not taken and is asked for again: ${message}`),
  });

  /** A new one for a chat completion, or an answer in a format that is made of one. */
  const name = ({ id: model }: Model): AnswerIdentity => ({
    id: ids.next('chatcmpl_'),
    created: unixSeconds(clock.now()),
    model,
  });

  const completionName = ({ id: model }: Model) => ({
    id: ids.next('cmpl_'),
    object: 'text_completion' as const,
    created: unixSeconds(clock.now()),
    model,
  });

  return {
    asking,
    name,
    completionName,

    /** @throws ApiError for what the engine cannot take, and as `createPromise` */
    promise(
      { pool, model }: ServedModel,
      request: ChatRequest,
      orgId: string,
      signal: AbortSignal,
    ): Promised | Promise<Promised> {
      requireInputs(request, pool, model);
      return createPromise(toKeep(request, pool), schemas, orgId, signal);
    },

    chat(
      { pool, model }: ServedModel,
      request: JsonBody<ChatRequest>,
      promised: Promised,
      how: EngineCall,
    ): Promise<Answered<ChatResponse>> {
      return promised.run(asking(pool, model, request), how).then((response) => ({
        body: { ...response, ...name(model), object: 'chat.completion' },
        usage: usageOf(response.usage),
      }));
    },

    /** The answer as the engine gave it: it is to be paid for, whether it can be named or not. */
    async native(
      { pool }: ServedModel,
      op: ApiFormat,
      request: JsonBody<NativeRequest>,
      how: EngineCall,
    ): Promise<Answered<NativeAnswer>> {
      const body = await pool.native.generate(op, request, how);
      return { body, usage: usageOf(body.usage) };
    },

    async embed(
      { pool, model }: ServedModel,
      request: JsonBody<EmbeddingsRequest>,
      how: EngineCall,
    ): Promise<Answered<EmbeddingsResponse>> {
      const { encoding_format: format } = request.value;
      const answer = await pool.embed(request, how);
      const body = embeddingsResponse(answer, model.id, format ?? 'float');
      return { body, usage: { ...noUsage, inputTokens: body.usage.prompt_tokens } };
    },

    async complete(
      { pool, model }: ServedModel,
      request: JsonBody<CompletionsRequest>,
      how: EngineCall,
    ): Promise<Answered<CompletionsResponse>> {
      const { fields, usage } = await pool.native.generate('completions', request, how);
      const body = { ...completionName(model), choices: fields['choices'] as CompletionChoice[], usage };
      return { body, usage: usageOf(usage) };
    },
  };
}

/** What is paid for an answer. */
export function usageOf(usage: ChatUsage): Usage {
  const { prompt_tokens, prompt_tokens_details, completion_tokens } = usage.billed ?? usage;
  return {
    inputTokens: prompt_tokens,
    cachedTokens: prompt_tokens_details.cached_tokens,
    outputTokens: completion_tokens,
    reasoningTokens: usage.completion_tokens_details?.reasoning_tokens ?? 0,
  };
}

/** What has to be kept here: engines that take tools with free text keep to their grammars by themselves. */
function toKeep(request: ChatRequest, { capabilities }: Engine): ChatRequest {
  const { tools } = request;
  if (!capabilities.customTools || !tools?.some(({ custom }) => custom)) return request;
  const free = (tool: Tool): Tool =>
    tool.custom ? { type: 'function', function: { name: tool.custom.name } } : tool;
  return { ...request, tools: tools.map(free) };
}

/** Whether a request goes on as its client wrote it: the engine speaks its format, and keeps by itself what is promised. */
export function goesNatively({ capabilities }: Engine, op: ApiFormat, chat: ChatRequest): boolean {
  const speech = capabilities.formats?.[op];
  const isSpoken = speech === 'native' || (speech === 'for stops' && isTextWithStops(chat));
  return isSpoken && keepsItself(chat, capabilities);
}

/** Request members that mean the same in every format. */
const plain: ReadonlySet<string> = new Set(
  'model messages max_completion_tokens temperature top_p top_k stop stream stream_options'.split(' '),
);

function isTextWithStops(chat: ChatRequest): boolean {
  const isText = ({ role, content, ...more }: ChatMessage, at: number) =>
    (role === 'user' || role === 'assistant' || (role === 'system' && at === 0)) &&
    (typeof content === 'string' || (content ?? []).every(({ type }) => type === 'text')) &&
    Object.keys(more).length === 0;
  return (
    Boolean(chat.stop?.length) &&
    Object.keys(chat).every((name) => plain.has(name)) &&
    chat.messages.every(isText)
  );
}

import { type Clock, unixSeconds } from '../base/clock.ts';
import type { Ids } from '../base/ids.ts';
import type { Log } from '../base/log.ts';
import type { DirectKind, Model } from '../core/model.ts';
import { noUsage, type Usage } from '../core/usage.ts';
import type { Engine, EngineCall, NativeRequest, ApiFormat } from '../engines/engines.ts';
import type { AnswerIdentity, NativeAnswer } from '../wire/prepared/prepared-request.ts';
import type { ChatMessage, ChatRequest, ChatResponse, ChatUsage, Tool } from '../wire/chat/chat.ts';
import type {
  CompletionChoice,
  CompletionsRequest,
  CompletionsResponse,
} from '../wire/completions/completions.ts';
import { directFormats, type DirectRequests } from '../wire/direct/direct-formats.ts';
import type { JsonBody } from '../wire/json/json-body.ts';
import { engineGuarantees } from './guarantees/engine-guarantees.ts';
import { createGuarantee, type Guarantee } from './guarantees/guarantee.ts';
import type { EngineRequest } from './guarantees/strategies.ts';
import { refuseImageUrls, requireModalities } from './modalities.ts';
import type { Schemas } from './schemas/schemas.ts';
import type { PooledModel } from './served-models.ts';

/** An answer in the client's form, and the usage to charge. */
export interface AnswerWithUsage<Body> {
  body: Body;
  usage: Usage;
}

export interface EngineCallsDeps {
  schemas: Schemas;
  clock: Clock;
  ids: Ids;
  log: Log;
}

export type EngineCalls = ReturnType<typeof createEngineCalls>;

/** Calls to engines whose answers carry our ids and the models' public names, for single requests and batch lines alike. */
export function createEngineCalls({ schemas, clock, ids, log }: EngineCallsDeps) {
  const engineRequest = (engine: Engine, model: Model, request: JsonBody<ChatRequest>): EngineRequest => ({
    engine,
    request,
    newCallId: () => ids.next('call_'),
    onMiss: ({ code, message }) =>
      log.debug({ model: model.id, code }, `an answer breaks a guarantee and is requested again: ${message}`),
  });

  /** A new name for a chat completion, or for an answer in a format that is converted from one. */
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
    engineRequest,
    name,
    completionName,

    /** @throws ApiError for modalities that the model lacks, and as `createGuarantee` */
    guarantee(
      { pool, model }: PooledModel,
      request: ChatRequest,
      orgId: string,
      signal: AbortSignal,
    ): Guarantee | Promise<Guarantee> {
      requireModalities(request, pool, model);
      return createGuarantee(withoutEngineGrammars(request, pool), schemas, orgId, signal);
    },

    /** Not async: a suspended function would keep the request, which can be large, in memory. */
    chat(
      { pool, model }: PooledModel,
      request: JsonBody<ChatRequest>,
      guarantee: Guarantee,
      call: EngineCall,
    ): Promise<AnswerWithUsage<ChatResponse>> {
      return guarantee.run(engineRequest(pool, model, request), call).then((response) => ({
        body: { ...response, ...name(model), object: 'chat.completion' },
        usage: usageOf(response.usage),
      }));
    },

    /** Returns the engine's own answer, so that it is charged even if it cannot be presented. */
    async native(
      { pool }: PooledModel,
      op: ApiFormat,
      request: JsonBody<NativeRequest>,
      call: EngineCall,
    ): Promise<AnswerWithUsage<NativeAnswer>> {
      const body = await pool.native.generate(op, request, call);
      return { body, usage: usageOf(body.usage) };
    },

    /** @throws ApiError also for image URLs, unless the model's server fetches them */
    async direct<Kind extends DirectKind>(
      { pool, model }: PooledModel,
      kind: Kind,
      request: JsonBody<DirectRequests[Kind]>,
      call: EngineCall,
    ): Promise<AnswerWithUsage<object>> {
      const { imageUrlPaths, presenter, idPrefix } = directFormats[kind];
      if (imageUrlPaths) refuseImageUrls(imageUrlPaths(request.value), model);
      const present = presenter(request.value);
      const result = await pool.direct(kind, request, call);
      const id = idPrefix === undefined ? '' : ids.next(idPrefix);
      const body = present(result, { id, created: unixSeconds(clock.now()), model: model.id });
      return { body, usage: { ...noUsage, inputTokens: result.promptTokens } };
    },

    async complete(
      { pool, model }: PooledModel,
      request: JsonBody<CompletionsRequest>,
      call: EngineCall,
    ): Promise<AnswerWithUsage<CompletionsResponse>> {
      const { fields, usage } = await pool.native.generate('completions', request, call);
      const body = { ...completionName(model), choices: fields['choices'] as CompletionChoice[], usage };
      return { body, usage: usageOf(usage) };
    },
  };
}

/** The usage to charge: of a repeated request, that of both answers. */
export function usageOf(usage: ChatUsage): Usage {
  const { prompt_tokens, prompt_tokens_details, completion_tokens } = usage.billed ?? usage;
  return {
    inputTokens: prompt_tokens,
    cachedTokens: prompt_tokens_details.cached_tokens,
    cacheWriteTokens: prompt_tokens_details.cache_write_tokens ?? 0,
    outputTokens: completion_tokens,
    reasoningTokens: usage.completion_tokens_details?.reasoning_tokens ?? 0,
  };
}

/** The request without the grammars of custom tools, for engines that enforce those themselves. */
function withoutEngineGrammars(request: ChatRequest, { capabilities }: Engine): ChatRequest {
  const { tools } = request;
  if (!capabilities.customTools || !tools?.some(({ custom }) => custom)) return request;
  const withoutGrammar = (tool: Tool): Tool =>
    tool.custom ? { type: 'function', function: { name: tool.custom.name } } : tool;
  return { ...request, tools: tools.map(withoutGrammar) };
}

/** True if the engine supports the request's format and enforces its guarantees, so that the request goes on as written. */
export function goesNatively({ capabilities }: Engine, op: ApiFormat, chat: ChatRequest): boolean {
  const support = capabilities.formats?.[op];
  const isSupported = support === 'native' || (support === 'for stops' && isTextWithStops(chat));
  return isSupported && engineGuarantees(chat, capabilities);
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

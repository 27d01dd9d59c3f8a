import { type Clock, unixSeconds } from '../base/clock.ts';
import type { Ids } from '../base/ids.ts';
import type { Log } from '../base/log.ts';
import type { ApiError } from '../core/errors.ts';
import type { Model } from '../core/model.ts';
import type { Engine, EngineCall, Op } from '../engines/engines.ts';
import type { AnswerName } from '../wire/asked.ts';
import type { ChatRequest, ChatResponse, Tool } from '../wire/chat/chat.ts';
import type {
  CompletionChoice,
  CompletionsRequest,
  CompletionsResponse,
} from '../wire/completions/completions.ts';
import type { EmbeddingsRequest, EmbeddingsResponse } from '../wire/embeddings/embeddings.ts';
import { embeddingsResponse } from '../wire/embeddings/response.ts';
import type { JsonBody } from '../wire/json/json-body.ts';
import { named } from './answers.ts';
import type { ServedModel } from './generate.ts';
import { requireInputs } from './inputs.ts';
import { createPromise, type Promised } from './promises/promise.ts';
import { keepsItself } from './promises/rule.ts';
import type { Asking } from './promises/ways.ts';
import type { Schemas } from './schemas/schemas.ts';

/** Answers of engines under our ids and the public names of their models, whoever asks for them. */
export interface Answering {
  /** @throws ApiError for what the engine cannot take, and as `createPromise` */
  promise(engine: Engine, request: ChatRequest, orgId: string, signal: AbortSignal): Promise<Promised>;
  /** What is asked to keep a promise. */
  asking(engine: Engine, model: Model, request: JsonBody<ChatRequest>): Asking;
  chat(
    served: ServedModel,
    request: JsonBody<ChatRequest>,
    promised: Promised,
    how: EngineCall,
  ): Promise<ChatResponse>;
  embed(
    served: ServedModel,
    request: JsonBody<EmbeddingsRequest>,
    how: EngineCall,
  ): Promise<EmbeddingsResponse>;
  complete(
    served: ServedModel,
    request: JsonBody<CompletionsRequest>,
    how: EngineCall,
  ): Promise<CompletionsResponse>;
  /** A new one for a chat completion, or an answer in a format that is made of one. */
  name(model: Model): AnswerName;
  completionName(model: Model): AnswerName & { object: 'text_completion' };
}

export interface AnsweringParts {
  schemas: Schemas;
  clock: Clock;
  ids: Ids;
  log: Log;
}

export function createAnswering({ schemas, clock, ids, log }: AnsweringParts): Answering {
  const newCallId = () => ids.next('call_');

  const asking: Answering['asking'] = (engine, model, request) => ({
    engine,
    request,
    newCallId,
    noteMiss: ({ code, message }: ApiError) =>
      log.debug({ model: model.id, code }, `an answer was not taken and is asked for again: ${message}`),
  });

  const completionName: Answering['completionName'] = ({ id: model }) => ({
    id: ids.next('cmpl_'),
    object: 'text_completion',
    created: unixSeconds(clock.now()),
    model,
  });

  return {
    async promise(engine, request, orgId, signal) {
      requireInputs(request, engine);
      return createPromise(toKeep(request, engine), schemas, orgId, signal);
    },

    asking,

    async chat({ pool, model }, request, promised, how) {
      const response = await promised.run(asking(pool, model, request), how);
      return named(response, ids.next('chatcmpl_'), model.id);
    },

    async embed({ pool, model }, request, how) {
      const answer = await pool.embed(request, how);
      return embeddingsResponse(answer, model.id, request.value.encoding_format ?? 'float');
    },

    async complete({ pool, model }, request, how) {
      const { fields, usage } = await pool.native.ask('completions', request, how);
      return { ...completionName(model), choices: fields['choices'] as CompletionChoice[], usage };
    },

    name: ({ id: model }) => ({ id: ids.next('chatcmpl_'), created: unixSeconds(clock.now()), model }),
    completionName,
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
export function goesNatively({ capabilities }: Engine, op: Op, chat: ChatRequest): boolean {
  return capabilities.speaks?.[op] === 'native' && keepsItself(chat, capabilities);
}

import type { Service } from '../base/service.ts';
import type { CallTrace } from '../core/call-trace.ts';
import type { Catalog, DirectKind, Model } from '../core/model.ts';
import type { Caller } from '../core/org.ts';
import type { RateState } from '../core/rates.ts';
import type { Usage } from '../core/usage.ts';
import type { Admission } from '../limits/limiter.ts';
import type { NativeEvent, NativeRequest, ApiFormat } from '../engines/engines.ts';
import type { AnswerIdentity, PreparedRequest, NativeAnswer } from '../wire/prepared/prepared-request.ts';
import type { ChatChunks, ChatRequest, ChatResponse } from '../wire/chat/chat.ts';
import type {
  CompletionChunks,
  CompletionsRequest,
  CompletionsResponse,
} from '../wire/completions/completions.ts';
import type { DirectRequests } from '../wire/direct/direct-formats.ts';
import type { JsonBody } from '../wire/json/json-body.ts';
import type { Capacity } from './capacity.ts';
import type { Peers } from './peers.ts';
import type { PooledModel } from './served-models.ts';

/**
 * The one way to run a request, for HTTP and for batches: resolve the model, admit, call the engine, check the guarantees
 * (schemas, forced tools), meter. Bodies are validated by their wire schema before.
 */
export interface Inference {
  /**
   * Admits a request that runs later, within the limits of its caller. The returned call runs it; its admission ends with the run, or
   * by hand if nothing runs.
   * @throws ApiError `rate_limit_exceeded` (429)
   */
  admit(chat: ChatRequest, call: InteractiveCall): Promise<InteractiveCall>;
  chat(request: JsonBody<ChatRequest>, call: InteractiveCall): Promise<ChatResponse>;
  /**
   * Chunks as the client sees them. The usage chunk always comes last; the route drops it unless the client asked for it.
   * The usage is charged when the stream ends, throws or is abandoned.
   */
  chatStream(request: JsonBody<ChatRequest>, call: InteractiveCall): ChatChunks;
  /**
   * True if the engine gets the request as the client wrote it, because the engine supports its format and all guarantees.
   * @param chat the same request as a chat completion
   */
  goesNatively(op: ApiFormat, chat: ChatRequest, caller: Caller): boolean;
  /** Runs a request that `goesNatively`; `present` puts our id and the model's public name into the answer. */
  native<T>(
    op: ApiFormat,
    request: Native,
    call: InteractiveCall,
    present: (answer: NativeAnswer, name: AnswerIdentity) => T,
  ): Promise<T>;
  /** Events of an answer; charged as `chatStream` is. */
  nativeStream<T>(
    op: ApiFormat,
    request: Native,
    call: InteractiveCall,
    present: (event: NativeEvent, name: AnswerIdentity) => T,
  ): AsyncIterable<readonly T[]>;
  /**
   * Tokens of the rendered prompt, or an estimate (bytes / 4) where the engine cannot count. Takes no slot and is free, but
   * the caller needs access to the model, and few counts run concurrently (`createCountPrompt`).
   */
  countTokens(request: ChatRequest, call: Pick<InteractiveCall, 'caller' | 'signal'>): Promise<number>;
  /** Prompt tokens of a batch line; undefined where its engine cannot count, and for raw prompts. */
  countLine(line: Pick<LineCall, 'model' | 'orgId' | 'asked' | 'signal'>): Promise<number | undefined>;
  /** Answers a request of a direct kind, such as embeddings, in the format of its endpoint. */
  direct<Kind extends DirectKind>(
    kind: Kind,
    request: JsonBody<DirectRequests[Kind]>,
    call: InteractiveCall,
  ): Promise<object>;
  completions(request: JsonBody<CompletionsRequest>, call: InteractiveCall): Promise<CompletionsResponse>;
  /** As `chatStream`. */
  completionsStream(request: JsonBody<CompletionsRequest>, call: InteractiveCall): CompletionChunks;
  /** Runs one batch line. The transaction that records the result charges for it. */
  runLine(line: LineCall): Promise<LineAnswer>;
}

/** Inference with its models and their capacity. Starting it starts the engines. */
export interface InferenceService extends Service {
  inference: Inference;
  capacity: Capacity;
  /** Models that this process serves now. */
  catalog: Catalog;
  /** Models and load of the other processes on the database. */
  peers: Peers;
  /**
   * Serves these models from now on. Requests in flight end in the pool where they began. A pool that is no longer listed
   * stops when it is idle; the others go on.
   * @throws the error of a new pool that cannot start; nothing has changed then
   */
  replaceModels(models: readonly PooledModel[]): Promise<void>;
  /** Sends no new requests to the replicas with these ids (`replicaId`), also where they are configured later. */
  drain(replicaIds: ReadonlySet<string>): void;
  /** Keeps the requests in flight of replicas, by their ids, within these caps, also where they are configured later. */
  cap(caps: ReadonlyMap<string, number>): void;
}

/** A request as the client wrote it, and as a chat completion. */
export interface Native {
  request: JsonBody<NativeRequest>;
  chat: ChatRequest;
}

export interface InteractiveCall {
  caller: Caller;
  /** `req_...` */
  requestId: string;
  /** Path under which the usage is booked, such as `/v1/chat/completions`. */
  endpoint: string;
  /** Metadata of the request, for the tag under which the usage is booked. */
  metadata?: unknown;
  signal: AbortSignal;
  /** Called with the id of the model that answers, as soon as its answer begins. */
  onModel?: (model: string) => void;
  /** Collects what the log line of the call says. */
  trace?: CallTrace;
  /** Called with the state of the limited rates when the request is admitted or refused. */
  onRates?: (rates: readonly RateState[]) => void;
  /** Admission of a request that was admitted before. */
  admission?: Admission;
  /** The client's `anthropic-beta`. */
  betas?: string;
}

export interface LineCall {
  model: Model;
  /** `req_...`, the same at every attempt. */
  id: string;
  /** Names of the models whose prices the batch froze. */
  priced: readonly string[];
  orgId: string;
  /** Weight of the org; 1 if absent. */
  weight?: number;
  asked: PreparedRequest;
  prefix: string;
  /** Epoch milliseconds at which the batch expires. */
  deadline: number;
  /** True for a single request that runs as those do whose callers wait. */
  isInteractive?: boolean;
  /** True if the line failed before. */
  isRepeat?: boolean;
  signal: AbortSignal;
  /** Collects what the log line of the call says. */
  trace?: CallTrace;
}

export interface LineAnswer {
  /** The endpoint's normal response body, or its JSON text. */
  body: object | string;
  usage: Usage;
  /** Name of the priced model that is charged, if a fallback answered. */
  model?: string;
}

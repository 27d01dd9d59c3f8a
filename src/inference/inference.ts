import type { Service } from '../base/service.ts';
import type { CallTrace } from '../core/call-trace.ts';
import type { RequestOutcomes } from '../core/request-outcomes.ts';
import type { Catalog, Model } from '../core/model.ts';
import type { Caller } from '../core/org.ts';
import type { ClosedServers, DiscoveredSlots, SlotShare } from '../core/slot-leases.ts';
import type { Usage } from '../core/usage.ts';
import type { NativeEvent, NativeRequest, ApiFormat, Pool } from '../engines/engines.ts';
import type { ReplicaState } from '../core/replica-state.ts';
import type { WaitingCause } from '../core/waiting.ts';
import type { AnswerIdentity, PreparedRequest, NativeAnswer } from '../wire/prepared/prepared-request.ts';
import type { ChatChunks, ChatRequest, ChatResponse } from '../wire/chat/chat.ts';
import type {
  CompletionChunks,
  CompletionsRequest,
  CompletionsResponse,
} from '../wire/completions/completions.ts';
import type { EmbeddingsRequest, EmbeddingsResponse } from '../wire/embeddings/embeddings.ts';
import type { JsonBody } from '../wire/json/json-body.ts';
import type { Fleet } from './fleet.ts';

/**
 * The one way to run a request, for HTTP and for batches: resolve the model, admit, call the engine, check what was
 * promised (schemas, forced tools), meter. Bodies are validated by their wire schema before they come here.
 */
export interface Inference extends Service {
  /** Of the models that are served now. */
  readonly catalog: Catalog;
  /** What the other processes serve and do; for their models, too, batches may be created here. */
  readonly fleet: Fleet;
  /**
   * Serves these models from now on. What is in flight ends where it began; a pool that is not among them any more stops
   * when it has nothing left to do. Pools that are among them go on as they are.
   * @throws what a new pool throws when it is started; then everything is as before
   */
  replaceModels(models: readonly ServedModel[]): Promise<void>;
  chat(request: JsonBody<ChatRequest>, call: InteractiveCall): Promise<ChatResponse>;
  /**
   * Chunks as a client of ours should see them, the usage chunk last and always (the route drops it when it was not asked
   * for). What it brought is charged when it ends, throws or is abandoned.
   */
  chatStream(request: JsonBody<ChatRequest>, call: InteractiveCall): ChatChunks;
  /**
   * Whether a request goes on to its engine as the client wrote it, because the engine speaks its format and keeps by itself
   * what is promised; `chat` is the same request as a chat completion.
   */
  goesNatively(op: ApiFormat, chat: ChatRequest, caller: Caller): boolean;
  /** The answer, told under our id and the model's public name. `chat` is checked like any other. */
  native<T>(
    op: ApiFormat,
    request: Native,
    call: InteractiveCall,
    told: (answer: NativeAnswer, name: AnswerIdentity) => T,
  ): Promise<T>;
  /** The events of an answer; charged as `chatStream` is. */
  nativeStream<T>(
    op: ApiFormat,
    request: Native,
    call: InteractiveCall,
    told: (event: NativeEvent, name: AnswerIdentity) => T,
  ): AsyncIterable<readonly T[]>;
  /**
   * Tokens of the rendered prompt; an estimate (a token for four bytes) where the engine cannot tell. Takes no slot and
   * costs nothing, but the model must be one the caller may use, and few are counted at once (`createCountPrompt`).
   */
  countTokens(request: ChatRequest, call: Pick<InteractiveCall, 'caller' | 'signal'>): Promise<number>;
  /** The same of a line of a batch; undefined where its engine cannot tell, or the line is a raw prompt. */
  countLine(line: Pick<LineCall, 'model' | 'orgId' | 'asked' | 'signal'>): Promise<number | undefined>;
  embeddings(request: JsonBody<EmbeddingsRequest>, call: InteractiveCall): Promise<EmbeddingsResponse>;
  completions(request: JsonBody<CompletionsRequest>, call: InteractiveCall): Promise<CompletionsResponse>;
  /** As `chatStream`. */
  completionsStream(request: JsonBody<CompletionsRequest>, call: InteractiveCall): CompletionChunks;
  /** One batch line: not charged here, the recording transaction bills it. Throws ApiError like the others. */
  runLine(line: LineCall): Promise<LineAnswer>;
  /** How many more batch lines `modelId` can take now; may be negative. */
  room(modelId: string): number;
  /** How many requests `modelId` works on at once. */
  slots(modelId: string): number;
  /** Outcomes of the requests of `modelId`, which show if others succeed. */
  fared(modelId: string): RequestOutcomes;
  /**
   * Why nobody takes requests of `modelId` at present; null while somebody does.
   * @param priced names of those that may do so in its place; all of its fallbacks if absent
   */
  waiting(modelId: string, priced?: readonly string[]): WaitingCause | null;
  /** The servers of `modelId`, each with how it is. */
  replicas(modelId: string): readonly ReplicaState[];
  /** Models that answer lines of `modelId` in its place, where it takes none; none where it does. */
  standIns(modelId: string): readonly string[];
  /** Called whenever some model may have more room than before. */
  onRoom(listener: () => void): void;
  /** Where the engine of `modelId` keeps prompts it has read (engines.ts, `Capabilities`). */
  prefixCache(modelId: string): 'slot' | 'shared' | 'none';
  /** Interactive calls in flight by model, for the heartbeat. */
  interactiveLoad(): Record<string, number>;
  /** Models whose servers other processes may ask, too: those share what may be in flight there. */
  contended(): ReadonlySet<string>;
  /** How many batch lines of `modelId` all processes together may have in flight. */
  limit(modelId: string): number;
  /** What of that was found out, because servers do not tell it; undefined where all of them do. */
  found(modelId: string): DiscoveredSlots | undefined;
  /** Which of its servers were found to take nothing; undefined where all do. */
  closed(modelId: string): ClosedServers | undefined;
  /** What this process may have among them; null where that cannot be agreed upon. */
  lease(modelId: string, share: SlotShare | null): void;
}

export interface ServedModel {
  model: Model;
  pool: Pool;
}

/** A request as the client wrote it, and as a chat completion. */
export interface Native {
  request: JsonBody<NativeRequest>;
  chat: ChatRequest;
}

export interface InteractiveCall {
  caller: Caller;
  /** `req_...`, the id of the ledger row. */
  requestId: string;
  signal: AbortSignal;
  /** Called with the id of the model that answers, as soon as something of its answer is there. */
  answers?: (model: string) => void;
  /** Where what becomes known of it is written down. */
  known?: CallTrace;
  /** The client's `anthropic-beta`. */
  betas?: string;
}

export interface LineCall {
  model: Model;
  /** Models that may be paid for it. */
  priced: readonly string[];
  /** Whose batch it is. */
  orgId: string;
  asked: PreparedRequest;
  prefix: string;
  /** When the batch expires, in epoch milliseconds. */
  deadline: number;
  /** True if it failed before. */
  isRepeat?: boolean;
  signal: AbortSignal;
  /** Where what becomes known of it is written down. */
  known?: CallTrace;
}

export interface LineAnswer {
  /** The endpoint's normal response body, or its JSON text. */
  body: object | string;
  usage: Usage;
  /** Which of the priced models is paid, where another one answered. */
  model?: string;
}

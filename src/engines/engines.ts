import type { Service } from '../base/service.ts';
import type { CallTrace } from '../core/call-trace.ts';
import type { RequestOutcomes } from '../core/request-outcomes.ts';
import type { DirectKind, ModelInput, Serves } from '../core/model.ts';
import type { OpenBreakers, DiscoveredSlots, SlotShare } from '../core/slot-leases.ts';
import type { ReplicaState } from '../core/replica-state.ts';
import type { WaitingCause } from '../core/waiting.ts';
import type { NativeAnswer } from '../wire/prepared/prepared-request.ts';
import type { ChatChunks, ChatRequest, ChatResponse, ChatUsage } from '../wire/chat/chat.ts';
import type { DirectRequests, DirectResults } from '../wire/direct/direct-formats.ts';
import type { EmbeddingsRequest } from '../wire/embeddings/embeddings.ts';
import type { JsonBody } from '../wire/json/json-body.ts';

/**
 * Contract of everything that runs a model. An engine takes the canonical chat request and answers in the canonical shape;
 * `inference` adds ids, the public model name and billing.
 *
 * Failures are `ApiError`s: `context_length_exceeded`, `request_refused`, `upstream_unreachable`, `upstream_timeout`,
 * `upstream_error`, `invalid_upstream_response`, `engine_overloaded` (with the server's `retryAfter`, if any),
 * `poison_request`, `schema_too_complex`, and `validation_error` for unsupported fields. When `call.signal` aborts, the call
 * rejects at once with the signal's reason and the work stops at the next token.
 */
export interface Engine extends Service {
  readonly capabilities: Capabilities;
  /** Requests processed concurrently; null if unknown. Further requests queue at the server. */
  readonly slots: number | null;
  /** The answer carries the engine's own name of the model. */
  generate(request: JsonBody<ChatRequest>, call: EngineCall): Promise<ChatResponse>;
  /** Chunks with non-empty `choices`, then the usage. @throws ApiError if a choice has no finish reason at the end */
  stream(request: JsonBody<ChatRequest>, call: EngineCall): ChatChunks;
  /** Answers a request of a kind that `capabilities.serves` names. */
  direct<Kind extends DirectKind>(
    kind: Kind,
    request: JsonBody<DirectRequests[Kind]>,
    call: EngineCall,
  ): Promise<DirectResults[Kind]>;
  /** Requests in the formats that `capabilities.formats` names as native. */
  readonly native?: NativeCalls;
  /** Tokens of the rendered prompt or of the embedded input; undefined where the engine cannot count them. */
  countTokens(request: ChatRequest | EmbeddingsRequest): Promise<number | undefined>;
  /** Registers the listener for rate limits that the server reports in its headers. */
  onRateLimit?(listener: (status: RateLimitStatus) => void): void;
  /** Queries the server's status without generating; never cached. @throws ApiError the error that a request would meet */
  probe(): Promise<ProbeReport>;
  /**
   * Sends a minimal request: a chat of one token, or the smallest one of another kind. Its outcome shows whether a failed request or
   * the server is at fault. A health route cannot, because a proxy may answer it.
   * @throws ApiError as a request would
   */
  tryOut(signal: AbortSignal): Promise<void>;
}

/** Requests left until a server renews its rate limit. */
export interface RateLimitStatus {
  remaining: number;
  resetMs: number;
}

/** Status that a server reports; null or absent where it reports none. */
export interface ProbeReport {
  /** Requests processed concurrently. */
  slots: number | null;
  /** Requests that wait at the server for a slot. */
  queued: number | null;
  /** Longest prompt plus completion of one request, in tokens. */
  contextLength?: number | null;
  /** Inputs of the model besides text. */
  inputs?: readonly ModelInput[] | null;
  /** True where the model can reason. */
  thinking?: boolean | null;
  /** True where the model calls tools. */
  tools?: boolean | null;
  /** True where the server has its own `/v1/messages`. */
  hasMessages?: boolean;
}

/** The replicas of one model as one engine. A request goes to the best, and to another if that fails before any output. */
export interface Pool extends Engine {
  readonly slots: number;
  readonly native: NativeCalls;
  /**
   * Requests to keep in flight so that no slot idles: slightly more than `slots` where those are known. 0 while no replica
   * takes requests, 1 while a single request tries whether one does again.
   */
  readonly maxInFlight: number;
  /** Most lines of all processes alongside the interactive requests in flight, so that these are not slowed too much. */
  readonly maxLines: number;
  /** True where lines make room for interactive requests at once, so that no slots need to be free for them. */
  readonly linesGiveWay: boolean;
  /** True where other processes may use the same servers. */
  readonly isShared: boolean;
  readonly outcomes: RequestOutcomes;
  /** Reason why no replica takes requests; null while one does. */
  readonly waiting: WaitingCause | null;
  readonly replicas: readonly ReplicaState[];
  /** Discovered limits of servers that do not report their slots; undefined where all report them. */
  readonly discovered: DiscoveredSlots | undefined;
  /** Servers that this process found unavailable; undefined if there are none. */
  readonly openBreakers: OpenBreakers | undefined;
  /** Applies the load and the findings of other processes; null where no other process uses the servers. */
  share(share: Omit<SlotShare, 'lines'> | null): void;
  /** Sends no new requests to replicas that an operator drains. @param isDrained of a replica's name, also of later ones */
  drain(isDrained: (name: string) => boolean): void;
  /** Keeps the requests in flight of replicas within an operator's caps. @param capOf a replica's name, also of later ones; null for none */
  cap(capOf: (name: string) => number | null): void;
  /** Sets the number of slots that batch requests get even while interactive ones wait. It may change at any time. */
  guaranteeBatches(slots: () => number): void;
  /** Registers a listener for moments when more requests may fit. */
  onRoom(listener: () => void): void;
}

export interface EngineCall {
  signal: AbortSignal;
  /** Batch work yields to interactive work wherever the engine can tell them apart. */
  priority: 'interactive' | 'batch';
  /** Requests with the same non-empty value share a prompt prefix. */
  prefix?: string;
  /** Org of the request; waiting requests take turns between orgs. */
  org?: string;
  /** Share of the slots that the org gets relative to others; 1 if absent. */
  weight?: number;
  /** Time after which the answer is useless, in epoch milliseconds; absent for interactive requests. */
  deadline?: number;
  /** Id of the line, the same at every attempt and in every process; absent for other requests. */
  line?: string;
  /** True for a line that failed before: another failure says nothing new about the server. */
  isRepeat?: boolean;
  /** Record of the call's progress, filled in by the engine. */
  trace?: CallTrace;
  /** The client's `anthropic-beta` header, for servers whose operator passes it on. */
  betas?: string;
}

/** API formats besides chat completions in which an engine may take requests unchanged. */
export type ApiFormat = 'messages' | 'responses' | 'completions';

/**
 * Support of an engine for a format: requests go out unchanged, translated to a chat completion, or not at all. `for stops`: unchanged
 * where plain text may end with a stop sequence, because nothing else reports which one ended it.
 */
export type FormatSupport = 'native' | 'for stops' | 'via chat' | 'no';

/** A checked request of any format. */
export type NativeRequest = Record<string, unknown>;

/** Requests passed on as clients wrote them, and answers with the server's ids and model name. Fails like chat. */
export interface NativeCalls {
  generate(format: ApiFormat, request: JsonBody<NativeRequest>, call: EngineCall): Promise<NativeAnswer>;
  /** @throws ApiError where the stream ends before the answer does */
  stream(
    format: ApiFormat,
    request: JsonBody<NativeRequest>,
    call: EngineCall,
  ): AsyncIterable<readonly NativeEvent[]>;
}

/** One event of a streamed answer as it arrived; for completions, the `choices` in `fields` and no data. */
export interface NativeEvent {
  type: string;
  data: string;
  /** Parsed `data`, where it had to be read. */
  fields?: Record<string, unknown>;
  /** Set on the first event that reports them. */
  promptTokens?: number;
  /** Output that this event adds: text, reasoning or tool arguments. */
  delta?: string;
  /** Set on the last event. */
  usage?: ChatUsage;
}

/** Abilities of an engine. Differences between engines are this table, never an `if` elsewhere. */
export interface Capabilities {
  /** True before the server was first reached; the values are then what any server supports. */
  isGuess?: boolean;
  /** True where the engine runs only lines of batches and requests that wait, which may take hours. */
  batchOnly?: boolean;
  serves: readonly Serves[];
  /** Inputs besides text; all possible ones where the engine does not know. */
  inputs: readonly ModelInput[];
  /** False where the model is known not to call tools by its own choice. */
  tools?: boolean;
  /** True where tools with free text (`Tool.custom`) are taken unchanged and their grammars are enforced. */
  customTools?: boolean;
  /** Longest prompt plus completion in tokens, if known. */
  contextLength: number | null;
  /**
   * Enforcement of a `json_schema` response format: `exact` (by the engine, so answers may be streamed at once), `native`
   * (requested, then checked before the client sees the answer), `none` (described to the model in the prompt).
   */
  jsonSchema: 'exact' | 'native' | 'none';
  /**
   * Forcing of a tool: `exact` and `native` as above, `strict` (as `native`, for tools marked strict), `filter` (a named tool is
   * sent alone with `required`), `none` (`inference` requests the arguments as JSON and builds the call).
   */
  forcedTool: 'exact' | 'native' | 'strict' | 'filter' | 'none';
  /**
   * Place of the prompt cache: `slot`, one for each slot, so that a prefix should return to its slot; `shared` by all requests
   * once the first has been read; `none`, also where the order of lines makes no difference.
   */
  prefixCache: 'slot' | 'shared' | 'none';
  /** Support of other formats. Absent means `via chat`, and `no` for completions, whose prompts are not chats. */
  formats?: Readonly<Partial<Record<ApiFormat, FormatSupport>>>;
}

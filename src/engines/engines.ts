import type { Service } from '../base/service.ts';
import type { CallTrace } from '../core/call-trace.ts';
import type { RequestOutcomes } from '../core/request-outcomes.ts';
import type { ModelInput, Serves } from '../core/model.ts';
import type { ClosedServers, DiscoveredSlots, SlotShare } from '../core/slot-leases.ts';
import type { ReplicaState } from '../core/replica-state.ts';
import type { WaitingCause } from '../core/waiting.ts';
import type { NativeAnswer } from '../wire/prepared/prepared-request.ts';
import type { ChatChunks, ChatRequest, ChatResponse, ChatUsage } from '../wire/chat/chat.ts';
import type { EmbeddingsRequest } from '../wire/embeddings/embeddings.ts';
import type { JsonBody } from '../wire/json/json-body.ts';

/**
 * The contract of everything that runs a model. An engine takes the canonical chat request and answers in the
 * canonical shape; ids, the public model name and billing are added by `generate`.
 *
 * Failures are `ApiError`s from the catalogue: `context_length_exceeded`, `request_refused`, `upstream_unreachable`,
 * `upstream_timeout`, `upstream_error`, `invalid_upstream_response`, `engine_overloaded` (with `retryAfter` where the
 * server told one), `poison_request`, `schema_too_complex` and `validation_error` for what it cannot hold. When
 * `call.signal` aborts, the call rejects with the signal's reason at once and the work stops at the next token.
 */
export interface Engine extends Service {
  readonly capabilities: Capabilities;
  /** How many requests it works on at once; null where nobody knows. More may be sent; they queue. */
  readonly slots: number | null;
  /** The answer names the model as the engine does. */
  generate(request: JsonBody<ChatRequest>, call: EngineCall): Promise<ChatResponse>;
  /**
   * The chunks of a streamed answer, each with a non-empty `choices` or, last, the usage. Ends only after every choice
   * had its finish reason; otherwise it throws (wire-formats.md, section 0: streams may never just stop).
   */
  stream(request: JsonBody<ChatRequest>, call: EngineCall): ChatChunks;
  embed(request: JsonBody<EmbeddingsRequest>, call: EngineCall): Promise<Embeddings>;
  /** Requests in the formats that it speaks natively (`capabilities.speaks`). */
  readonly native?: NativeCalls;
  /** Tokens of the rendered prompt, or of what is embedded; undefined when the engine cannot tell. */
  countTokens(request: ChatRequest | EmbeddingsRequest): Promise<number | undefined>;
  /** Called with what the server tells of its limits, if it tells any. */
  onRateLimit?(listener: (told: RateLimitStatus) => void): void;
  /**
   * Asks the server how it is, without giving it work. What it tells is new each time.
   * @throws ApiError when it is away or does not know us, as a request would find it
   */
  probe(): Promise<ProbeReport>;
  /**
   * Sends a minimal request: a chat of one token, or an embedding of one letter. Its outcome shows whether a failed request or the
   * server is at fault. A health route cannot, because a proxy may answer it.
   * @throws ApiError as a request would
   */
  tryOut(signal: AbortSignal): Promise<void>;
}

/** What a server tells of its limits with an answer: how many more requests it takes until they are renewed. */
export interface RateLimitStatus {
  remaining: number;
  resetMs: number;
}

/** What a server tells of itself; null or absent where it does not. */
export interface ProbeReport {
  /** How many requests it works on at once. */
  slots: number | null;
  /** Requests that wait there for one of its slots. */
  queued: number | null;
  /** Longest prompt plus completion of one request, in tokens. */
  contextLength?: number | null;
  /** What the model takes beside text. */
  inputs?: readonly ModelInput[] | null;
  /** Whether the model can be told to think. */
  thinking?: boolean | null;
  /** Whether the model calls tools. */
  tools?: boolean | null;
  /** True where the server has a `/v1/messages` of its own. */
  hasMessages?: boolean;
}

/**
 * The replicas of one model, as one engine: each request goes to the replica that suits it, and on to another where the
 * first was at fault before anything of an answer had come. It knows which of them take work, and how much.
 */
export interface Pool extends Engine {
  readonly slots: number;
  readonly native: NativeCalls;
  /**
   * Requests to have in flight so that no slot waits for us: some more than `slots` where that is a known number. 0 while
   * nobody takes any, 1 while it is tried out whether somebody does again.
   */
  readonly maxInFlight: number;
  /** Whether other processes may ask the same servers, where they serve the same model. */
  readonly isShared: boolean;
  /** Outcomes of its requests, minimal ones included. */
  readonly outcomes: RequestOutcomes;
  /** Why no replica takes requests at present; null while one does. */
  readonly waiting: WaitingCause | null;
  readonly replicas: readonly ReplicaState[];
  /** Requests to have in flight at servers that do not tell their slots; undefined where all of them do. */
  readonly discovered: DiscoveredSlots | undefined;
  /** Servers of which it found that they take nothing at present; undefined where all do. */
  readonly closedServers: ClosedServers | undefined;
  /** What other processes have in flight there, and what they found out; null where nobody else asks them. */
  share(share: Omit<SlotShare, 'lines'> | null): void;
  /** Called whenever there may be more room than before. */
  onRoom(listener: () => void): void;
}

export interface EngineCall {
  signal: AbortSignal;
  /** Batch work yields to interactive work wherever the engine can tell them apart. */
  priority: 'interactive' | 'batch';
  /** Requests with the same non-empty value share a prompt prefix. */
  prefix?: string;
  /** Whose request it is: waiting ones take turns between orgs. */
  org?: string;
  /** Until when its answer is of use, in epoch milliseconds; absent where somebody waits for it, as long as he likes. */
  deadline?: number;
  /** True for a line that failed before: its failures say nothing new about the server. */
  isRepeat?: boolean;
  /** Where what becomes known of the call is written down; nowhere if absent. */
  trace?: CallTrace;
  /** The client's `anthropic-beta`, for servers whose operator passes that on. */
  betas?: string;
}

/** What else than chat completions an engine may be asked for in the words of the client. */
export type ApiFormat = 'messages' | 'responses' | 'completions';

/**
 * In the client's own words, as the chat completion that a request comes to, or not at all. `for stops`: in the client's words where a
 * plain text may end with a stop sequence, because nothing else reports which one it met.
 */
export type FormatSupport = 'native' | 'for stops' | 'via chat' | 'no';

/** A checked request of any format. */
export type NativeRequest = Record<string, unknown>;

/**
 * Requests that go on as their clients wrote them, and answers that come back so, with the server's ids and name of the model.
 * Failures are those of chat.
 */
export interface NativeCalls {
  generate(op: ApiFormat, request: JsonBody<NativeRequest>, call: EngineCall): Promise<NativeAnswer>;
  /** Ends only after the answer did; otherwise it throws. */
  stream(
    op: ApiFormat,
    request: JsonBody<NativeRequest>,
    call: EngineCall,
  ): AsyncIterable<readonly NativeEvent[]>;
}

/** One event of a streamed answer as it came; of completions the `choices` in `fields`, and no data. */
export interface NativeEvent {
  type: string;
  data: string;
  /** What `data` holds, where it had to be read. */
  fields?: Record<string, unknown>;
  /** With the first event that tells them. */
  promptTokens?: number;
  /** What it adds to the answer: text, thoughts, arguments. */
  delta?: string;
  /** With the last event. */
  usage?: ChatUsage;
}

export interface Embeddings {
  /** One vector an input, in order, as long as the model gives them; the embedded engine normalises to length 1. */
  vectors: Float32Array[];
  promptTokens: number;
}

/**
 * What an engine can do by itself. Differences between engines are this table, never an `if` elsewhere.
 */
export interface Capabilities {
  /** The server was never seen: nobody knows what kind it is, and these are what any can. */
  isGuess?: boolean;
  serves: readonly Serves[];
  /** What its model takes beside text; an engine that does not know names all that may be. */
  inputs: readonly ModelInput[];
  /** False where its model is known to call no tools by its own choice. */
  tools?: boolean;
  /** Whether it takes tools with free text as they are (`Tool.custom`), and holds their grammars. */
  customTools?: boolean;
  /** Longest prompt plus completion in tokens, when known. */
  contextLength: number | null;
  /**
   * How a `json_schema` response format is met: `exact` (the engine keeps to it, so that its answers may be streamed as
   * they come), `native` (asked for, then checked before anyone sees the answer), `none` (told to the model in words).
   */
  jsonSchema: 'exact' | 'native' | 'none';
  /**
   * How a tool is forced: `exact` and `native` as above, `filter` (a named one by sending that tool alone with `required`),
   * `none` (`generate` asks for the arguments as JSON and makes the call of them).
   */
  forcedTool: 'exact' | 'native' | 'strict' | 'filter' | 'none';
  /**
   * Where the prompts it has read are kept: `slot`, each slot its own, so that a prefix should come back to the slot that
   * knows it; `shared` by all requests, once the first has been read; `none`, or nothing that the order of lines changes.
   */
  prefixCache: 'slot' | 'shared' | 'none';
  /** How it is asked in other formats. If absent `via chat`; completions, whose prompts are no chats, not at all. */
  formats?: Readonly<Partial<Record<ApiFormat, FormatSupport>>>;
}

import { type Clock, unixSeconds } from '../base/clock.ts';
import { createFairGate, type Gate } from '../base/fair-gate.ts';
import { coalesceWrites } from '../base/coalesce-writes.ts';
import type { Ids } from '../base/ids.ts';
import type { Log } from '../base/log.ts';
import type { DurableRequests } from '../batches/requests/durable-requests.ts';
import { ApiError, notFound } from '../core/errors.ts';
import type { ConversationAppend } from '../core/conversation.ts';
import type { StoredResponse } from '../core/response.ts';
import type { BudgetOwner } from '../core/budget.ts';
import type { Catalog } from '../core/model.ts';
import type { StorageStore } from '../store/contract/storage.ts';
import { runRequest } from '../inference/run-request.ts';
import type { Inference, InteractiveCall } from '../inference/inference.ts';
import type { ChatChoice, ChatRequest } from '../wire/chat/chat.ts';
import { type JsonBody, builtBody } from '../wire/json/json-body.ts';
import { remapError } from '../wire/shared/path-map.ts';
import { compactionItem, retainedMessages } from '../wire/responses/compaction.ts';
import { outputItemId } from '../wire/responses/item-ids.ts';
import { requireReadable } from '../wire/responses/request/request.ts';
import { responseUsage, responseError } from '../wire/responses/answer/response-body.ts';
import { ResponseStream } from '../wire/responses/stream/from-chat-chunks.ts';
import { prepareResponse } from '../wire/responses/answer/prepare-response.ts';
import { type NativeEvent, NativeResponseStream } from '../wire/responses/answer/native-response.ts';
import type { OutputPiece } from '../wire/responses/answer/output-builder.ts';
import type { ResponseBody, ResponseEvents, ResponsesRequest } from '../wire/responses/responses.ts';
import { createResponseMaintenance } from './maintenance.ts';
import { createDurable, type DurableCall } from './durable.ts';
import { createConversations } from './conversations.ts';
import { createStoredChats } from './stored-chats.ts';
import { type ResponsesContext, ttlMs } from './context.ts';
import { createPreparer, type PreparedResponse } from './prepare.ts';
import { createQuota } from './quota.ts';
import type { Responses } from './responses.ts';
import { conversationTurn } from './conversation-turn.ts';
import { createSession, type SessionMemory } from './session.ts';
import { createStoredResponses } from './stored-responses.ts';
import { toRow, toTexts } from './stored-body.ts';

export interface ResponsesDeps {
  store: ResponsesContext['store'] & { storage: StorageStore };
  inference: Inference;
  /** Requests that run through the batch engine. */
  requests: DurableRequests;
  /** Time that a response in the background has, in milliseconds. */
  backgroundTimeoutMs: number;
  catalog: Catalog;
  /** Throws if the org's budget is used up. */
  budgets: { require(owner: BudgetOwner): void };
  clock: Clock;
  ids: Ids;
  log: Log;
  /** Shares the reads of many rows among orgs. */
  scans: Gate;
  /** True if no other process uses the database. */
  exclusive: boolean;
  /** Throws while the disk has no room for what clients store. */
  requireDisk: () => void;
  limits: { conversationBytes: number; responseBytesPerOrg: number; storedResponses: number };
}

/** Native events get their ids and numbers in `NativeResponseStream`. */
const asItIs = (event: NativeEvent) => event;

/** Conversations of the largest size that fit in memory together; one org may use a quarter. */
const maxConversations = 16;
/** Requests of one org that may wait for memory. */
const maxWaiting = 1_000;
/** Maximum responses per transaction; each may have some MB. */
const groupRows = 64;

/** Rows to write when a response ends. */
interface ResponseWrite {
  row: StoredResponse | undefined;
  turn: ConversationAppend | undefined;
}

/** Starting the service fails the responses that dead processes left unfinished. */
export function createResponses(deps: ResponsesDeps): Responses {
  const { inference, catalog, clock, ids, limits } = deps;
  const { responses: store, conversations, chats } = deps.store;
  const maxBytes = limits.conversationBytes;
  const roomBytes = maxConversations * maxBytes;
  const maintenance = createResponseMaintenance({
    ...deps,
    store,
    otherStores: [conversations, chats],
    roomBytes,
  });
  const memoryRoom = {
    capacity: roomBytes,
    maxPerOwner: roomBytes / 4,
    fullError: () =>
      new ApiError('rate_limit_exceeded', 'Too many requests are waiting to read stored conversations.', {
        retryAfter: 5,
      }),
  };
  const memory = createFairGate({ ...memoryRoom, maxWaiting });
  const remembering = createFairGate({ ...memoryRoom, maxWaiting: 0 });
  const quota = createQuota(
    deps.store.storage,
    {
      bytes: limits.responseBytesPerOrg,
      responses: limits.storedResponses,
    },
    deps.requireDisk,
  );
  const insert = coalesceWrites(async (writes: ResponseWrite[]) => {
    const rows = writes.flatMap(({ row }) => row ?? []);
    const turns = writes.flatMap(({ turn }) => turn ?? []);
    quota.note(await store.insert(rows, turns));
  }, groupRows);
  const context: ResponsesContext = {
    store: deps.store,
    clock,
    ids,
    quota,
    memory,
    scans: deps.scans,
    maxBytes,
    ttlMs,
  };
  const prepare = createPreparer(context, catalog);
  const newCallId = () => ids.next('call_');
  const seconds = () => unixSeconds(clock.now());

  function rowOf(
    { orgId, keyId, input, inputBytes }: PreparedResponse,
    body: ResponseBody,
    pieces: readonly OutputPiece[] | null = null,
  ): StoredResponse {
    return toRow({ orgId, keyId, input, inputBytes, now: clock.now() }, body, toTexts(body, pieces));
  }

  function save(prepared: PreparedResponse, body: ResponseBody, pieces?: readonly OutputPiece[] | null) {
    if (!body.store && !body.conversation) return undefined;
    const row = body.store ? rowOf(prepared, body, pieces) : undefined;
    return insert({ row, turn: turnOf(prepared, body) });
  }

  function turnOf(prepared: PreparedResponse, body: ResponseBody): ConversationAppend | undefined {
    const { orgId, keyId } = prepared;
    const now = clock.now();
    return (
      body.conversation &&
      conversationTurn(body, prepared.inputItems(), { orgId, keyId, now, expiresAt: now + ttlMs })
    );
  }

  /** Answers natively if the engine supports responses, else through a chat completion. */
  function answerNow(prepared: PreparedResponse, call: InteractiveCall): Promise<ResponseBody> {
    const request = prepareResponse({
      ...prepared,
      native: () => prepared.native(false),
      begun: () => prepared.begun,
      at: seconds,
      newCallId,
    });
    return runRequest(inference, request, { ...call, metadata: prepared.begun.metadata });
  }

  /** Runs work on a prepared request without storing a response. */
  async function withPrepared<T>(
    request: JsonBody<ResponsesRequest>,
    call: Pick<InteractiveCall, 'caller' | 'signal'>,
    work: (prepared: PreparedResponse) => Promise<T>,
  ): Promise<T> {
    const prepared = await prepare.read(request, call);
    try {
      return await work(prepared);
    } catch (error) {
      throw remapError(error, prepared.chat, prepared.paths());
    } finally {
      prepared.leave();
    }
  }

  const durable = createDurable({
    ...deps,
    prepare,
    rowOf,
    reserve: (orgId, bytes) => maintenance.reserve(orgId, bytes),
    stopping: maintenance.stopping,
  });
  const stored = createStoredResponses(context, { maintenance, durable, requests: deps.requests });

  async function startInBackground(
    body: JsonBody<ResponsesRequest>,
    call: InteractiveCall,
    how: DurableCall,
  ): Promise<ResponseBody> {
    // Checked now, because a background response has no caller to get the error.
    deps.budgets.require(call.caller);
    const { begun, submitted } = await durable.start(body, call, how);
    if (!submitted.replayed) return { ...begun, status: 'queued' };
    const id = await store.idOf(call.caller.orgId, submitted.id, clock.now());
    if (id === undefined) throw notFound('response');
    return stored.get(call.caller, id);
  }

  async function* streamed(
    body: JsonBody<ResponsesRequest>,
    call: InteractiveCall,
    session?: SessionMemory,
  ): ResponseEvents {
    const prepared = await prepare.make(body, { ...call, remembered: session?.latest });
    try {
      yield* streamPrepared(prepared, call, session);
    } finally {
      prepared.leave();
    }
  }

  async function* streamPrepared(
    prepared: PreparedResponse,
    asked: InteractiveCall,
    session?: SessionMemory,
  ): ResponseEvents {
    const { begun, paths, clientNames } = prepared;
    const call = { ...asked, metadata: begun.metadata };
    const chat: ChatRequest = { ...prepared.chat, stream: true };
    const isNative = inference.goesNatively('responses', chat, call.caller);
    const stream = isNative
      ? new NativeResponseStream(begun)
      : new ResponseStream(begun, newCallId, clientNames);
    try {
      if (stream instanceof NativeResponseStream) {
        const native = { request: prepared.native(true), chat };
        for await (const events of inference.nativeStream('responses', native, call, asItIs))
          yield stream.read(events);
      } else {
        requireReadable(prepared.items);
        for await (const chunks of inference.chatStream(builtBody(chat), call)) yield stream.read(chunks);
      }
    } catch (thrown) {
      const error = remapError(thrown, chat, paths());
      const body = stream.fail(responseError(error));
      if (body && !call.signal.aborted) await save(prepared, body, stream.pieces);
      throw error;
    }
    const { body, events } = stream.end(seconds());
    await save(prepared, body, stream.pieces);
    session?.keep(prepared, body);
    yield events;
  }

  return {
    conversations: createConversations(context),
    chats: createStoredChats(context),
    start: () => maintenance.start(),
    stop: () => maintenance.stop(),
    ...stored,
    open: ({ orgId }) => createSession(remembering, orgId, streamed),

    async create(request, call, how) {
      if (how) return startInBackground(request, call, how);
      const prepared = await prepare.make(request, call);
      try {
        const body = await answerNow(prepared, call);
        await save(prepared, body);
        return body;
      } finally {
        prepared.leave();
      }
    },

    async *stream(request, call, how) {
      if (!how) return yield* streamed(request, call);
      const { id } = await startInBackground(request, call, how);
      yield* stored.events(call.caller, id, -1, call.signal);
    },

    async durable(request, call, tier) {
      const { prepared, ...made } = await durable.prepare(request, call, tier);
      return {
        ...made,
        release() {
          prepared.leave();
          // The batch engine has stored the answer.
          quota.forget(call.caller);
        },
      };
    },

    compact: (request, call) =>
      withPrepared(request, call, async ({ begun, items, chat }) => {
        requireReadable(items);
        const { choices, usage } = await inference.chat(builtBody(chat), call);
        const summary = summaryOf(choices[0]!);
        const retained = retainedMessages(items.slice(0, -1).map(({ item }) => item));
        const { id, created_at } = begun;
        const compaction = compactionItem(outputItemId(id, 'compaction', retained.length), summary);
        return {
          id,
          object: 'response.compaction',
          created_at,
          output: [...retained, compaction],
          usage: responseUsage(usage),
        };
      }),

    countInput: (request, call) =>
      withPrepared(request, call, ({ chat }) => inference.countTokens(chat, call)),
  };
}

/** @throws ApiError `invalid_upstream_response` for a truncated or empty summary */
function summaryOf({ message, finish_reason: finish }: ChatChoice): string {
  const summary = (message.content ?? '').trim();
  if (finish === 'length' || finish === 'content_filter')
    throw new ApiError(
      'invalid_upstream_response',
      `The model's summary of the conversation was cut off (${finish}). Try a shorter conversation or another model.`,
    );
  if (summary === '')
    throw new ApiError(
      'invalid_upstream_response',
      'The model returned an empty summary of the conversation. Try again, or use another model.',
    );
  return summary;
}

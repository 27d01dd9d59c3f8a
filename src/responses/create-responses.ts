import { type Clock, unixSeconds } from '../base/clock.ts';
import { createFairGate } from '../base/fair-gate.ts';
import { grouped } from '../base/grouped.ts';
import type { Ids } from '../base/ids.ts';
import type { Log } from '../base/log.ts';
import { ApiError } from '../core/errors.ts';
import type { Said } from '../core/conversation.ts';
import type { StoredResponse } from '../core/response.ts';
import { answerWhole } from '../inference/answer-whole.ts';
import type { Inference, InteractiveCall } from '../inference/inference.ts';
import type { ChatChoice, ChatRequest } from '../wire/chat/chat.ts';
import { type JsonBody, madeBody } from '../wire/json/json-body.ts';
import { movedError } from '../wire/shared/places.ts';
import { compactionItem, messagesThatStay } from '../wire/responses/compaction.ts';
import { outputItemId } from '../wire/responses/item-ids.ts';
import { requireReadable } from '../wire/responses/request/request.ts';
import { responseUsage, responseError } from '../wire/responses/answer/response-body.ts';
import { ResponseStream } from '../wire/responses/stream/from-chat-chunks.ts';
import { askedResponse } from '../wire/responses/answer/asked-response.ts';
import { type NativePiece, NativeResponseStream } from '../wire/responses/answer/native-response.ts';
import type { Piece } from '../wire/responses/answer/output-builder.ts';
import type { ResponseBody, ResponseEvents, ResponsesRequest } from '../wire/responses/responses.ts';
import { createBackground } from './background.ts';
import { createConversations } from './conversations.ts';
import { createKeptChats } from './kept-chats.ts';
import type { Parts } from './parts.ts';
import { createPreparing, type Prepared } from './prepare.ts';
import { createQuota } from './quota.ts';
import type { Responses } from './responses.ts';
import { saidBy } from './said.ts';
import { createSession, type Memory } from './session.ts';
import { createStored } from './stored.ts';
import { textsOf } from './stored-body.ts';

export interface ResponsesDeps {
  store: Parts['store'];
  generate: Inference;
  /** Throws where an org may spend nothing more. */
  budgets: { require(orgId: string): void };
  clock: Clock;
  ids: Ids;
  log: Log;
  /** No other process uses this database. */
  exclusive: boolean;
  limits: {
    /** Of a conversation that is put together from what is stored. */
    conversationBytes: number;
    /** Of all that an org stores. */
    responseBytesPerOrg: number;
  };
}

/** Events get our ids and numbers where the response is put together. */
const asItIs = (event: NativePiece) => event;

const day = 86_400_000;
/** How long a response is kept. */
const ttlMs = 30 * day;
/** Conversations of the largest size whose stored part may be in memory at once; of one org a quarter of them. */
const conversationsAtOnce = 16;
/** Requests of one org that may wait for that. */
const mostWaiting = 1_000;
/** Responses written in one transaction at most: each may hold some MB. */
const groupRows = 64;

/** What is written at once when a response ends. */
interface Kept {
  row: StoredResponse | undefined;
  said: Said | undefined;
}

/** Responses over any store. Starting it ends what a process that died left unfinished. */
export function createResponses(deps: ResponsesDeps): Responses {
  const { generate, clock, ids, limits } = deps;
  const { responses: store, conversations, chats } = deps.store;
  const mostBytes = limits.conversationBytes;
  const roomBytes = conversationsAtOnce * mostBytes;
  const background = createBackground({ ...deps, store, others: [conversations, chats], roomBytes });
  const memoryRoom = {
    room: roomBytes,
    each: roomBytes / 4,
    full: () =>
      new ApiError('rate_limit_exceeded', 'Too many stored conversations wait to be read.', {
        retryAfter: 5,
      }),
  };
  const memory = createFairGate({ ...memoryRoom, mostWaiting });
  const remembering = createFairGate({ ...memoryRoom, mostWaiting: 0 });
  const quota = createQuota(store, limits.responseBytesPerOrg);
  const insert = grouped(async (each: Kept[]) => {
    const rows = each.flatMap(({ row }) => row ?? []);
    const all = each.flatMap(({ said }) => said ?? []);
    quota.note(await store.insert(rows, all));
  }, groupRows);
  const parts: Parts = { store: deps.store, clock, ids, quota, memory, mostBytes, ttlMs };
  const prepare = createPreparing(parts, generate.catalog);
  const stored = createStored(parts, background);
  const newCallId = () => ids.next('call_');
  const seconds = () => unixSeconds(clock.now());

  function rowOf(
    { orgId, input, inputBytes }: Prepared,
    body: ResponseBody,
    pieces: readonly Piece[] | null = null,
  ): StoredResponse {
    const now = clock.now();
    const texts = textsOf(body, pieces);
    return {
      id: body.id,
      orgId,
      previousId: body.conversation?.id ?? body.previous_response_id,
      createdAt: now,
      expiresAt: now + ttlMs,
      aliveUntil: null,
      saidBytes: inputBytes + Buffer.byteLength(texts.output),
      input,
      ...texts,
    };
  }

  function keep(
    prepared: Prepared,
    body: ResponseBody,
    pieces?: readonly Piece[] | null,
  ): Promise<void> | undefined {
    if (!body.store && !body.conversation) return undefined;
    const said = saidOf(prepared, body);
    const row = body.store ? rowOf(prepared, body, pieces) : undefined;
    return insert({ row, said });
  }

  function saidOf(prepared: Prepared, body: ResponseBody): Said | undefined {
    const now = clock.now();
    return (
      body.conversation &&
      saidBy(body, prepared.asked(), { orgId: prepared.orgId, now, expiresAt: now + ttlMs })
    );
  }

  /** As it is where its engine takes responses, else as a chat completion. */
  function answer(prepared: Prepared, call: InteractiveCall): Promise<ResponseBody> {
    const asked = askedResponse({
      ...prepared,
      native: () => prepared.native(false),
      begun: () => prepared.begun,
      at: seconds,
      newCallId,
    });
    return answerWhole(generate, asked, call);
  }

  /** Makes a request ready, but no response. */
  async function looked<T>(
    request: JsonBody<ResponsesRequest>,
    call: Pick<InteractiveCall, 'caller' | 'signal'>,
    work: (prepared: Prepared) => Promise<T>,
  ): Promise<T> {
    const prepared = await prepare.read(request, call);
    try {
      return await work(prepared);
    } catch (error) {
      throw movedError(error, prepared.chat, prepared.places());
    } finally {
      prepared.leave();
    }
  }

  async function startInBackground(
    body: JsonBody<ResponsesRequest>,
    call: InteractiveCall,
  ): Promise<ResponseBody> {
    // Later nobody would be there to hear of it.
    deps.budgets.require(call.caller.orgId);
    const giveBack = background.reserve(call.caller.orgId, Buffer.byteLength(body.text));
    let leave = giveBack;
    try {
      const prepared = await prepare.make(body, call);
      leave = () => {
        giveBack();
        prepared.leave();
      };
      const { begun } = prepared;
      const row = rowOf(prepared, begun);
      await insert({ row: { ...row, aliveUntil: background.aliveUntil() }, said: undefined });
      background.run(
        begun,
        (signal) => answer(prepared, { ...call, signal }).finally(leave),
        (made) => saidOf(prepared, made),
      );
      return { ...begun, status: 'queued' };
    } catch (error) {
      leave();
      throw error;
    }
  }

  async function* streamed(
    body: JsonBody<ResponsesRequest>,
    call: InteractiveCall,
    session?: Memory,
  ): ResponseEvents {
    const prepared = await prepare.make(body, { ...call, remembered: session?.latest });
    try {
      yield* streamPrepared(prepared, call, session);
    } finally {
      prepared.leave();
    }
  }

  async function* streamPrepared(
    prepared: Prepared,
    call: InteractiveCall,
    session?: Memory,
  ): ResponseEvents {
    const { begun, places, own } = prepared;
    const chat: ChatRequest = { ...prepared.chat, stream: true };
    const isNative = generate.goesNatively('responses', chat, call.caller);
    const stream = isNative ? new NativeResponseStream(begun) : new ResponseStream(begun, newCallId, own);
    try {
      if (stream instanceof NativeResponseStream) {
        const native = { request: prepared.native(true), chat };
        for await (const events of generate.nativeStream('responses', native, call, asItIs))
          yield stream.read(events);
      } else {
        requireReadable(prepared.items);
        for await (const chunks of generate.chatStream(madeBody(chat), call)) yield stream.read(chunks);
      }
    } catch (thrown) {
      const error = movedError(thrown, chat, places());
      const body = stream.broken(responseError(error));
      if (body && !call.signal.aborted) await keep(prepared, body, stream.pieces);
      throw error;
    }
    const { body, events } = stream.end(seconds());
    await keep(prepared, body, stream.pieces);
    session?.keep(prepared, body);
    yield events;
  }

  return {
    conversations: createConversations(parts),
    chats: createKeptChats(parts),
    start: () => background.start(),
    stop: () => background.stop(),
    ...stored,
    open: ({ orgId }) => createSession(remembering, orgId, streamed),

    async create(request, call) {
      if (request.value.background) return startInBackground(request, call);
      const prepared = await prepare.make(request, call);
      try {
        const body = await answer(prepared, call);
        await keep(prepared, body);
        return body;
      } finally {
        prepared.leave();
      }
    },

    async *stream(request, call) {
      if (!request.value.background) return yield* streamed(request, call);
      const { id } = await startInBackground(request, call);
      yield* stored.events(call.caller, id, -1, call.signal);
    },

    compact: (request, call) =>
      looked(request, call, async ({ begun, items, chat }) => {
        requireReadable(items);
        const { choices, usage } = await generate.chat(madeBody(chat), call);
        const summary = summaryOf(choices[0]!);
        const kept = messagesThatStay(items.slice(0, -1).map(({ item }) => item));
        const { id, created_at } = begun;
        const output = [...kept, compactionItem(outputItemId(id, 'compaction', kept.length), summary)];
        return { id, object: 'response.compaction', created_at, output, usage: responseUsage(usage) };
      }),

    countInput: (request, call) => looked(request, call, ({ chat }) => generate.countTokens(chat, call)),
  };
}

/** @throws ApiError `invalid_upstream_response` where it is none: nothing may be lost of a conversation */
function summaryOf({ message, finish_reason: finish }: ChatChoice): string {
  const summary = (message.content ?? '').trim();
  if (finish === 'length' || finish === 'content_filter')
    throw new ApiError(
      'invalid_upstream_response',
      `The model's summary of the conversation was cut off (${finish}), and nothing may be lost of it; try a shorter conversation, or another model.`,
    );
  if (summary === '')
    throw new ApiError(
      'invalid_upstream_response',
      'The model answered with no text when it was asked to sum the conversation up; try again, or another model.',
    );
  return summary;
}

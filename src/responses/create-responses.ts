import { type Clock, unixSeconds } from '../base/clock.ts';
import { grouped } from '../base/grouped.ts';
import { isId, type Ids } from '../base/ids.ts';
import type { Log } from '../base/log.ts';
import { ApiError, invalid, notFound } from '../core/errors.ts';
import { modelFor } from '../core/model-access.ts';
import type { Caller } from '../core/org.ts';
import type { StoredResponse } from '../core/response.ts';
import type { Generate, InteractiveCall } from '../generate/generate.ts';
import type { ResponseStore } from '../store/store.ts';
import type { ChatRequest } from '../wire/chat/chat.ts';
import { quoted } from '../wire/json/parse.ts';
import { movedError, type Places } from '../wire/places.ts';
import { firstEvents, ResponseStream } from '../wire/responses/from-chat-chunks.ts';
import { fromChatResponse } from '../wire/responses/from-chat-response.ts';
import type { Piece } from '../wire/responses/output-builder.ts';
import { replayed } from '../wire/responses/replay.ts';
import { requireConversation } from '../wire/responses/request.ts';
import { newResponse } from '../wire/responses/response-body.ts';
import { responseError } from '../wire/responses/response-error.ts';
import type {
  ResponseBody,
  ResponseEvents,
  ResponsesRequest,
  StoredItem,
} from '../wire/responses/responses.ts';
import { storedItems } from '../wire/responses/stored-items.ts';
import { toChatRequest } from '../wire/responses/to-chat-request.ts';
import { createBackground, leaseMs } from './background.ts';
import { readConversation } from './conversation.ts';
import type { Responses } from './responses.ts';

export interface ResponsesDeps {
  store: { responses: ResponseStore };
  generate: Generate;
  clock: Clock;
  ids: Ids;
  log: Log;
  /** No other process uses this database. */
  exclusive: boolean;
}

const day = 86_400_000;
/** How long a response is kept. */
const ttlMs = 30 * day;
/** Events of a replay that are written together; all of a long one would keep everybody else waiting. */
const replayedAtOnce = 200;
/** Responses written in one transaction at most: each may hold some MB. */
const groupRows = 64;

/** A request made ready: the response it begins, and the chat it comes to. */
interface Prepared {
  begun: ResponseBody;
  own: StoredItem[];
  chat: ChatRequest;
  places: Places;
}

/** Responses over any store. Starting it ends what a process that died left unfinished. */
export function createResponses(deps: ResponsesDeps): Responses {
  const { generate, clock, ids } = deps;
  const store = deps.store.responses;
  const background = createBackground({ ...deps, store });
  const insert = grouped((rows: StoredResponse[]) => store.insert(rows), groupRows);
  const newCallId = () => ids.next('call_');
  const seconds = () => unixSeconds(clock.now());

  async function prepare(request: ResponsesRequest, caller: Caller): Promise<Prepared> {
    const model = modelFor(generate.catalog, caller, request.model, 'chat').id;
    const id = ids.next('resp_');
    const reader = { responses: store, orgId: caller.orgId, now: clock.now() };
    const { items, own } = await readConversation(reader, request, storedItems(request.input, id));
    requireConversation(items);
    const begun = newResponse(request, { id, createdAt: seconds(), model, status: 'in_progress' });
    return { begun, own, ...toChatRequest(request, items) };
  }

  function rowOf(body: ResponseBody, own: StoredItem[], caller: Caller): StoredResponse {
    const now = clock.now();
    return {
      id: body.id,
      orgId: caller.orgId,
      status: body.status,
      previousId: body.previous_response_id,
      createdAt: now,
      expiresAt: now + ttlMs,
      aliveUntil: null,
      input: JSON.stringify(own),
      body: JSON.stringify(body),
      pieces: null,
    };
  }

  async function keep(
    { own }: Prepared,
    body: ResponseBody,
    caller: Caller,
    pieces: readonly Piece[] | null,
  ): Promise<void> {
    if (!body.store) return;
    await insert({ ...rowOf(body, own, caller), pieces: pieces && JSON.stringify(pieces) });
  }

  async function answer({ begun, chat, places }: Prepared, call: InteractiveCall): Promise<ResponseBody> {
    const request = { value: chat, text: JSON.stringify(chat) };
    const response = await generate.chat(request, call).catch((error: unknown) => {
      throw movedError(error, chat, places);
    });
    return fromChatResponse(begun, response, { at: seconds(), newCallId });
  }

  async function startInBackground(request: ResponsesRequest, call: InteractiveCall): Promise<ResponseBody> {
    background.requireRoom();
    const prepared = await prepare(request, call.caller);
    const { begun, own } = prepared;
    await insert({ ...rowOf(begun, own, call.caller), aliveUntil: clock.now() + leaseMs });
    background.run(begun, (signal) => answer(prepared, { ...call, signal }));
    return { ...begun, status: 'queued' };
  }

  async function find(caller: Caller, id: string): Promise<StoredResponse> {
    const found = isId('resp_', id) ? await store.get(caller.orgId, id, clock.now()) : undefined;
    if (!found) throw notFound('response');
    return background.checked(found);
  }

  async function* streamed(request: ResponsesRequest, call: InteractiveCall): ResponseEvents {
    const prepared = await prepare(request, call.caller);
    const { begun, places } = prepared;
    const chat: ChatRequest = { ...prepared.chat, stream: true };
    const stream = new ResponseStream(begun, newCallId);
    try {
      for await (const chunks of generate.chatStream({ value: chat, text: JSON.stringify(chat) }, call))
        yield chunks.flatMap((chunk) => stream.chunk(chunk));
    } catch (thrown) {
      const error = movedError(thrown, chat, places);
      const body = stream.broken(responseError(error));
      if (body && !call.signal.aborted) await keep(prepared, body, call.caller, stream.pieces);
      throw error;
    }
    const { body, events } = stream.end(seconds());
    await keep(prepared, body, call.caller, stream.pieces);
    yield events;
  }

  async function* eventsOf(
    caller: Caller,
    id: string,
    startingAfter: number,
    signal: AbortSignal,
  ): ResponseEvents {
    let row = await find(caller, id);
    let next = startingAfter + 1;
    if (row.aliveUntil !== null) {
      const begun = firstEvents(bodyOf(row)).map((event, n) => ({ ...event, sequence_number: n }));
      yield begun.slice(next);
      next = Math.max(next, begun.length);
    }
    while (row.aliveUntil !== null && !signal.aborted) {
      await background.changed(id, signal);
      row = await find(caller, id);
    }
    if (row.aliveUntil !== null) return;
    const events = replayed(bodyOf(row), row.pieces === null ? null : (JSON.parse(row.pieces) as Piece[]));
    for (; next < events.length; next += replayedAtOnce) yield events.slice(next, next + replayedAtOnce);
  }

  return {
    start: () => background.start(),
    stop: () => background.stop(),
    events: eventsOf,

    async create(request, call) {
      if (request.background) return startInBackground(request, call);
      const prepared = await prepare(request, call.caller);
      const body = await answer(prepared, call);
      await keep(prepared, body, call.caller, null);
      return body;
    },

    async *stream(request, call) {
      if (!request.background) return yield* streamed(request, call);
      const { id } = await startInBackground(request, call);
      yield* eventsOf(call.caller, id, -1, call.signal);
    },

    get: async (caller, id) => bodyOf(await find(caller, id)),

    async inputItems(caller, id, { limit, order, after }) {
      const stored = JSON.parse((await find(caller, id)).input) as StoredItem[];
      const items = order === 'asc' ? stored : stored.toReversed();
      const at = after === undefined ? -1 : items.findIndex((item) => item.id === after);
      if (after !== undefined && at < 0) throw invalid('after', `${quoted(after)} is not an id of this list`);
      return { items: items.slice(at + 1, at + 1 + limit), hasMore: items.length > at + 1 + limit };
    },

    async cancel(caller, id) {
      const row = await find(caller, id);
      const body: ResponseBody = { ...bodyOf(row), status: 'cancelled' };
      const end = { status: 'cancelled', body: JSON.stringify(body), pieces: null } as const;
      if (row.aliveUntil !== null && (await store.finish(id, end))) {
        background.drop(id);
        return body;
      }
      const now = await find(caller, id);
      if (now.status === 'cancelled') return bodyOf(now);
      throw new ApiError(
        'response_not_cancellable',
        bodyOf(now).background
          ? `The response is ${now.status} already.`
          : 'Only responses in the background can be cancelled; this one was waited for.',
      );
    },

    async remove(caller, id) {
      if (!isId('resp_', id) || !(await store.remove(caller.orgId, id, clock.now())))
        throw notFound('response');
      background.drop(id);
    },

    async countInput(request, caller) {
      const { chat, places } = await prepare(request, caller);
      return generate.countTokens(chat, caller).catch((error: unknown) => {
        throw movedError(error, chat, places);
      });
    },
  };
}

function bodyOf(row: StoredResponse): ResponseBody {
  return JSON.parse(row.body) as ResponseBody;
}

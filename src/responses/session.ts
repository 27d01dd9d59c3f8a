import type { FairGate } from '../base/fair-gate.ts';
import type { InteractiveCall } from '../inference/inference.ts';
import type { JsonBody } from '../wire/json/json-body.ts';
import type {
  ResponseBody,
  ResponseEvents,
  ResponsesRequest,
  StoredItem,
} from '../wire/responses/responses.ts';
import type { RememberedResponse } from './read-conversation.ts';
import type { PreparedResponse } from './prepare.ts';

/** Successive turns of one client. The latest is kept in memory, so that it can be continued without being stored. */
export interface ResponseSession {
  /** Like `Responses.stream`. A failed turn is forgotten together with the one that it continues. */
  stream(request: JsonBody<ResponsesRequest>, call: InteractiveCall): ResponseEvents;
  /** Forgets the latest turn. */
  close(): void;
}

export interface SessionMemory {
  readonly latest: RememberedResponse | undefined;
  keep(prepared: PreparedResponse, body: ResponseBody): void;
}

/** @param room shared by all sessions; without room in it, a response can be continued only if it is stored */
export function createSession(
  room: FairGate,
  orgId: string,
  stream: (
    request: JsonBody<ResponsesRequest>,
    call: InteractiveCall,
    memory: SessionMemory,
  ) => ResponseEvents,
): ResponseSession {
  let latest: RememberedResponse | undefined;
  let leave = () => {};

  function forget() {
    latest = undefined;
    leave();
    leave = () => {};
  }

  const memory: SessionMemory = {
    get latest() {
      return latest;
    },
    keep(prepared, body) {
      const isStored = body.store && body.previous_response_id !== latest?.id;
      forget();
      if (isStored) return;
      const bytes = prepared.allBytes + Buffer.byteLength(JSON.stringify(body.output));
      const entered = room.tryEnter(orgId, bytes);
      if (!entered) return;
      leave = entered;
      const output = body.output as unknown as StoredItem[];
      latest = { id: body.id, items: [...prepared.items.map(({ item }) => item), ...output], bytes };
    },
  };

  return {
    async *stream(request, call) {
      try {
        yield* stream(request, call, memory);
      } catch (error) {
        if (latest && request.value.previous_response_id === latest.id && !call.signal.aborted) forget();
        throw error;
      }
    },
    close: forget,
  };
}

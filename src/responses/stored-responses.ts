import { isId } from '../base/ids.ts';
import { ApiError, notFound } from '../core/errors.ts';
import type { Caller } from '../core/org.ts';
import type { ResponseWithoutInput } from '../store/contract/responses.ts';
import { pageOfItems } from '../wire/shared/list-body.ts';
import { firstEvents } from '../wire/responses/stream/from-chat-chunks.ts';
import type { OutputPiece } from '../wire/responses/answer/output-builder.ts';
import { replayEvents } from '../wire/responses/stream/replay.ts';
import type { ResponseBody } from '../wire/responses/responses.ts';
import type { DurableRequests } from '../batches/requests/durable-requests.ts';
import type { ResponseMaintenance } from './maintenance.ts';
import type { Durable } from './durable.ts';
import { createItemReader, referencesIn } from './stored-items.ts';
import type { ResponsesContext } from './context.ts';
import type { Responses } from './responses.ts';
import { toBody, toTexts } from './stored-body.ts';

/** Operations on stored responses. */
export function createStoredResponses(
  { store: { responses: store }, clock, memory }: ResponsesContext,
  {
    maintenance,
    durable,
    requests,
  }: { maintenance: ResponseMaintenance; durable: Durable; requests: Pick<DurableRequests, 'cancel'> },
): Pick<Responses, 'get' | 'events' | 'inputItems' | 'cancel' | 'remove'> {
  async function find(caller: Caller, id: string): Promise<ResponseWithoutInput> {
    const found = isId('resp_', id) ? await store.get(caller.orgId, id, clock.now()) : undefined;
    if (!found) throw notFound('response');
    return maintenance.failIfAbandoned(found);
  }

  /** Ends an unfinished response; false if it has ended meanwhile. */
  function end(
    { orgId }: Caller,
    { id, requestId }: ResponseWithoutInput,
    body: ResponseBody,
  ): Promise<boolean> {
    const texts = toTexts(body);
    if (requestId === null) return store.finish(id, texts);
    return requests.cancel(orgId, requestId, { ended: { id, end: texts } });
  }

  return {
    async *events(caller, id, startingAfter, signal) {
      let row = await find(caller, id);
      let next = startingAfter + 1;
      if (row.aliveUntil !== null) {
        const begun = firstEvents(toBody(row)).map((event, n) => ({ ...event, sequence_number: n }));
        yield begun.slice(next);
        next = Math.max(next, begun.length);
      }
      while (row.aliveUntil !== null && !signal.aborted) {
        // Frees the texts while waiting.
        row = { ...row, body: '', output: '' };
        await (row.requestId === null ? maintenance.pause(signal) : durable.ended(row.requestId, signal));
        row = await find(caller, id);
      }
      if (row.aliveUntil !== null) return;
      const pieces = row.pieces === null ? null : (JSON.parse(row.pieces) as OutputPiece[]);
      for (const events of replayEvents(toBody(row), pieces)) {
        const rest = events.filter((event) => event.sequence_number >= next);
        if (rest.length > 0) yield rest;
        // Nothing is written for a skipped list, so yield to the event loop here.
        else await new Promise((resolve) => setImmediate(resolve));
      }
    },

    get: async (caller, id) => toBody(await find(caller, id)),

    async inputItems({ orgId }, id, query, signal) {
      const now = clock.now();
      const bytes = isId('resp_', id) ? (await store.sizes(orgId, 'input', [id], now))[id] : undefined;
      if (bytes === undefined) throw notFound('response');
      return memory.within(orgId, bytes, signal, async () => {
        const reader = createItemReader({ responses: store, orgId, now });
        const { items, hasMore } = pageOfItems(await reader.readInput(id), query);
        await reader.read(referencesIn(items));
        return { items: items.map((item) => reader.named(item.id)?.item ?? item), hasMore };
      });
    },

    async cancel(caller, id) {
      const row = await find(caller, id);
      const body: ResponseBody = { ...toBody(row), status: 'cancelled' };
      if (row.aliveUntil !== null && (await end(caller, row, body))) return body;
      const current = await find(caller, id);
      if (current.status === 'cancelled') return toBody(current);
      throw new ApiError(
        'response_not_cancellable',
        toBody(current).background
          ? `The response is already ${current.status}.`
          : 'Only background responses can be cancelled.',
      );
    },

    async remove(caller, id) {
      const row = await find(caller, id);
      if (row.aliveUntil !== null) await end(caller, row, { ...toBody(row), status: 'cancelled' });
      if (!(await store.remove(caller.orgId, id, clock.now()))) throw notFound('response');
    },
  };
}

import type { BatchView } from '../../../wire/batch/present.ts';
import type { DateForm } from '../../../core/batch.ts';
import { batchErrorEvent, batchEvent } from '../../../wire/batch/events.ts';
import { batchJson } from '../../../wire/batch/present.ts';
import { sseHeaders } from '../../../wire/chat/sse.ts';
import { bytes, events } from '../../answer.ts';
import { batchSchema } from '../../openapi/answer-schemas.ts';
import type { Route } from '../../route.ts';

/** Written once for all who follow the batch. */
const written = new WeakMap<BatchView, string>();

/** `GET /v1/batches/{batch_id}/events`: the batch whenever it has changed, until it is finished. */
export const streamBatchEvents: Route = {
  method: 'GET',
  path: '/v1/batches/:batch_id/events',
  access: 'batches',
  id: { prefix: 'batch_', what: 'batch' },
  docs: {
    name: 'Batch Events',
    summary: 'Server-sent events: the batch as it is, then whenever it has changed, until it is finished',
    tag: 'Batches',
    answer: { status: 200, type: 'text/event-stream', schema: batchSchema },
  },
  async handle({ caller, param, method, signal, recheck }, { batches, dates }) {
    const views = await batches.follow(caller, param, signal);
    if (method === 'HEAD') return bytes(null, sseHeaders);
    return events(eventsOf(views, dates, recheck), batchErrorEvent);
  },
};

/** The stream may last longer than the key is good. */
async function* eventsOf(views: AsyncIterable<BatchView>, dates: DateForm, recheck: () => Promise<void>) {
  for await (const view of views) {
    await recheck();
    let event = written.get(view);
    if (event === undefined) written.set(view, (event = batchEvent(batchJson(view, dates))));
    yield event;
  }
}

import { createHash } from 'node:crypto';
import { heavySlices } from '../../base/loop-slices.ts';
import type { Batches } from '../../batches/batches.ts';
import type { DateForm, ResultStream } from '../../core/batch.ts';
import { parseCreateBatch } from '../../wire/batch/create.ts';
import { createBatchSchema } from '../../wire/batch/create-schema.ts';
import { batchErrorEvent } from '../../wire/errors/error-events.ts';
import { parseBatchListQuery, parseResultsQuery } from '../../wire/batch/list.ts';
import { presentCounts } from '../../wire/batch/counts.ts';
import { type BatchView, batchJson, presentEstimate } from '../../wire/batch/present.ts';
import { parseRetry, type RetryOptions, retrySchema } from '../../wire/batch/retry.ts';
import { namedEvent, sseHeaders } from '../../wire/shared/sse.ts';
import { listJson } from '../../wire/shared/list-body.ts';
import { bytes, events, json, jsonText } from '../answer/answer.ts';
import { type IdempotencyToken, idempotencyTokens, replayHeaders } from '../request/idempotency.ts';
import { rangedBytes } from '../answer/ranged-bytes.ts';
import { batchCountsSchema, batchSchema, estimateSchema, pageOf } from '../openapi/answer-schemas.ts';
import { batchListQuery, resultsQuery } from '../openapi/query-schemas.ts';
import { batchBodyBytes } from '../request/batch-body.ts';
import type { Incoming, MountedRoute } from '../route.ts';
import { defineRoutes, smallBody } from './define-routes.ts';

// POST routes without `body` ignore any body.

export const batchRoutes = defineRoutes({ access: 'batches', tag: 'Batches' }, [
  {
    on: 'POST /v1/batches',
    name: 'Create Batch',
    summary: 'Run the requests of an uploaded file, or inline requests, at half the price',
    body: createBatchSchema,
    maxBytes: (_limits, { inlineBytes }) => batchBodyBytes(inlineBytes),
    status: 201,
    answer: batchSchema,
    otherAnswer: { status: 200, description: 'Cost estimate, with dry_run', schema: estimateSchema },
    async handle(incoming, { batches }) {
      const { caller, body, surface } = incoming;
      const { rules, ignoresModel } = surface;
      const steps = parseCreateBatch(body.utf8(), rules, { windows: batches.windows, ignoresModel });
      const { input: parsed, dryRun } = await heavySlices.run(caller.orgId, steps);
      const input = { ...parsed, rules };
      if (dryRun) return json(200, presentEstimate(await batches.dryRun(caller, input), surface.dates));
      const token = idempotencyTokens(incoming, 'batches')(await body.sha256());
      const { batch, replayed } = await batches.create(caller, input, token);
      return jsonText(201, batchJson(batch, surface.dates), replayHeaders(replayed));
    },
  },
  {
    on: 'GET /v1/batches',
    name: 'List Batches',
    summary: 'List the batches of the org, newest first',
    query: batchListQuery,
    strictQuery: true,
    answer: pageOf(batchSchema),
    async handle({ caller, query, signal, surface: { dates } }, { batches }) {
      const page = await batches.listOwn(caller, parseBatchListQuery(query), signal);
      const items = page.batches.map((view) => ({ id: view.batch.id, json: batchJson(view, dates) }));
      return jsonText(200, listJson(items, page.hasMore));
    },
  },
  {
    on: 'GET /v1/batches/counts',
    name: 'Batch Counts',
    summary: 'Count the batches of the org in each state',
    strictQuery: true,
    answer: batchCountsSchema,
    async handle({ caller }, { batches }) {
      return json(200, presentCounts(await batches.countByStatus(caller.orgId)));
    },
  },
  {
    on: 'GET /v1/batches/:batch_id',
    name: 'Get Batch',
    summary: 'Get a batch, with its progress and its cost so far',
    answer: batchSchema,
    handle: batchAction('get'),
  },
  {
    on: 'POST /v1/batches/:batch_id/cancel',
    name: 'Cancel Batch',
    summary: 'Cancel a batch. Finished results are kept and billed',
    answer: batchSchema,
    handle: batchAction('cancel'),
  },
  {
    on: 'POST /v1/batches/:batch_id/pause',
    name: 'Pause Batch',
    summary: 'Stop sending requests of a batch until it is resumed. Its window keeps running',
    answer: batchSchema,
    handle: batchAction('pause'),
  },
  {
    on: 'POST /v1/batches/:batch_id/resume',
    name: 'Resume Batch',
    summary: 'Resume a paused batch',
    answer: batchSchema,
    handle: batchAction('resume'),
  },
  {
    on: 'POST /v1/batches/:batch_id/retry',
    name: 'Retry Batch',
    summary: 'Create a new batch of the failed requests of a finished one, which does not change',
    body: retrySchema,
    optionalBody: true,
    maxBytes: smallBody,
    status: 201,
    answer: batchSchema,
    otherAnswer: { status: 200, description: 'Cost estimate, with dry_run', schema: estimateSchema },
    async handle(incoming, { batches }) {
      const { caller, param, body, surface } = incoming;
      const { options, dryRun } = parseRetry(body.text, batches.windows);
      if (dryRun)
        return json(200, presentEstimate(await batches.retryDryRun(caller, param, options), surface.dates));
      const { batch, replayed } = await batches.retry(caller, param, options, retryToken(incoming, options));
      return jsonText(201, batchJson(batch, surface.dates), replayHeaders(replayed));
    },
  },
  {
    on: 'GET /v1/batches/:batch_id/events',
    name: 'Batch Events',
    summary:
      'Stream the batch as server-sent events: its current state, then every change until it is finished',
    type: 'text/event-stream',
    answer: batchSchema,
    async handle({ caller, param, method, signal, recheck, surface }, { batches }) {
      const views = await batches.follow(caller, param, signal);
      if (method === 'HEAD') return bytes(null, sseHeaders);
      return events(batchEvents(views, surface.dates, recheck), batchErrorEvent);
    },
  },
  {
    on: 'GET /v1/batches/:batch_id/output',
    name: 'Batch Output',
    summary: 'Download the result lines so far, one for each finished request',
    query: resultsQuery,
    strictQuery: true,
    type: 'application/jsonl',
    handle: resultLines('output'),
  },
  {
    on: 'GET /v1/batches/:batch_id/errors',
    name: 'Batch Errors',
    summary: 'Download the error lines so far, one for each failed request',
    query: resultsQuery,
    strictQuery: true,
    type: 'application/jsonl',
    handle: resultLines('errors'),
  },
]);

/** Token of a retry, which depends on the batch, the codes in any order, and the window. */
export function retryToken(incoming: Incoming, { codes, window }: RetryOptions): IdempotencyToken {
  const ms = window === undefined ? [] : [`window=${window?.ms ?? 'default'}`];
  const of = [incoming.param, ...(codes ?? []).toSorted(), ...ms].join(' ');
  return idempotencyTokens(incoming, 'retries')(createHash('sha256').update(of).digest('hex'));
}

function batchAction(
  verb: keyof Pick<Batches, 'get' | 'cancel' | 'pause' | 'resume'>,
): MountedRoute['handle'] {
  return async ({ caller, param, surface }, { batches }) =>
    jsonText(200, batchJson(await batches[verb](caller, param), surface.dates));
}

/** Result lines as JSONL, with headers for the next request (`after`). */
export function resultLines(stream: ResultStream): MountedRoute['handle'] {
  return async (incoming, { batches }) => {
    const { caller, param, query, method } = incoming;
    const { after } = parseResultsQuery(query);
    const { status, incomplete, lastLine, file, read } = await batches.results(caller, param, stream, after);
    const headers = {
      'content-type': 'application/jsonl; charset=utf-8',
      'x-content-type-options': 'nosniff',
      'x-batch-status': status,
      'x-incomplete': String(incomplete),
      'x-last-line': String(lastLine),
    };
    if (file) return rangedBytes(incoming, { size: file.bytes, sha256: file.sha256, read }, headers);
    const lines = await read();
    return bytes(method === 'HEAD' ? null : lines, headers);
  };
}

/** Events that are shared by all subscribers of a batch on surfaces with the same dates. */
const renderedEvents: Record<DateForm, WeakMap<BatchView, string>> = {
  iso: new WeakMap(),
  unix: new WeakMap(),
};

/** Events of a batch. The key is checked before each: it may be revoked during the stream. */
async function* batchEvents(views: AsyncIterable<BatchView>, dates: DateForm, recheck: () => Promise<void>) {
  for await (const view of views) {
    await recheck();
    let event = renderedEvents[dates].get(view);
    if (event === undefined) {
      // Metadata keeps its line breaks between tokens, which an event must not have.
      event = namedEvent('batch', batchJson(view, dates).replaceAll(/[\n\r]/g, ' '));
      renderedEvents[dates].set(view, event);
    }
    yield event;
  }
}

import { splitLines } from '../../base/byte-lines.ts';
import { heavySlices } from '../../base/loop-slices.ts';
import type { Batches } from '../../batches/batches.ts';
import { isFinal } from '../../core/batch.ts';
import { ApiError, notFound } from '../../core/errors.ts';
import type { Caller } from '../../core/org.ts';
import type { BatchView } from '../../wire/batch/present.ts';
import { mapToRequests, parseCreateMessageBatch } from '../../wire/message-batches/create.ts';
import { parseMessageBatchListQuery } from '../../wire/message-batches/list.ts';
import { presentMessageBatch, presentMessageBatches } from '../../wire/message-batches/present.ts';
import { messageResultLine } from '../../wire/message-batches/result-line.ts';
import {
  createMessageBatchSchema,
  deletedMessageBatchSchema,
  messageBatchListSchema,
  messageBatchResultSchema,
  messageBatchSchema,
} from '../../wire/message-batches/schemas.ts';
import { bytes, json } from '../answer/answer.ts';
import { batchBodyBytes } from '../request/batch-body.ts';
import { idempotencyTokens, replayHeaders } from '../request/idempotency.ts';
import { messageBatchListQuery } from '../openapi/query-schemas.ts';
import { publicUrl } from '../request/public-url.ts';
import type { Incoming, Services } from '../route.ts';
import { defineRoutes } from './define-routes.ts';

const endpoint = '/v1/messages';

/** Batches of `/v1/messages` in the format of Anthropic's clients: another view of the batches at `/v1/batches`. */
export const messageBatchRoutes = defineRoutes({ access: 'batches', tag: 'Message batches' }, [
  {
    on: 'POST /v1/messages/batches',
    name: 'Create Message Batch',
    summary: 'Run requests of /v1/messages within 24 hours at half the price',
    body: createMessageBatchSchema,
    maxBytes: (_limits, { inlineBytes }) => batchBodyBytes(inlineBytes),
    answer: messageBatchSchema,
    async handle(incoming, { batches }) {
      const { caller, body, surface } = incoming;
      const { rules } = surface;
      if (!rules.endpoints.includes(endpoint))
        throw new ApiError(
          'validation_error',
          `Batches of ${endpoint} are not enabled here. Use the surface for Anthropic clients (usually the base URL with /anthropic), or add the endpoint to batch.endpoints in the server's configuration.`,
        );
      const requests = await heavySlices.run(caller.orgId, parseCreateMessageBatch(body.utf8(), rules));
      const token = idempotencyTokens(incoming, 'message_batches')(await body.sha256());
      const { batch, replayed } = await batches
        .create(caller, { rules, endpoint, requests }, token)
        .catch((error: unknown) => {
          throw mapToRequests(error);
        });
      return json(200, presentMessageBatch(batch, resultsBase(incoming)), replayHeaders(replayed));
    },
  },
  {
    on: 'GET /v1/messages/batches',
    name: 'List Message Batches',
    summary: 'List the message batches of the org, newest first',
    query: messageBatchListQuery,
    strictQuery: true,
    answer: messageBatchListSchema,
    async handle(incoming, { batches }) {
      const { caller, query } = incoming;
      const page = await batches.list(caller, { endpoint, ...parseMessageBatchListQuery(query) });
      return json(200, presentMessageBatches(page.batches, page.hasMore, resultsBase(incoming)));
    },
  },
  {
    on: 'GET /v1/messages/batches/:message_batch_id',
    name: 'Get Message Batch',
    summary: 'Get a message batch',
    answer: messageBatchSchema,
    handle: async (incoming, services) =>
      json(200, presentMessageBatch(await find(incoming, services), resultsBase(incoming))),
  },
  {
    on: 'POST /v1/messages/batches/:message_batch_id/cancel',
    name: 'Cancel Message Batch',
    summary: 'Cancel a batch. Finished results are kept and billed',
    answer: messageBatchSchema,
    async handle(incoming, services) {
      const { batch } = await find(incoming, services);
      const cancelled = await services.batches.cancel(incoming.caller, batch.id);
      return json(200, presentMessageBatch(cancelled, resultsBase(incoming)));
    },
  },
  {
    on: 'DELETE /v1/messages/batches/:message_batch_id',
    name: 'Delete Message Batch',
    summary: 'Delete a batch that has ended, with its requests and results',
    answer: deletedMessageBatchSchema,
    async handle(incoming, services) {
      const { batch } = await find(incoming, services);
      await services.batches.remove(incoming.caller, batch.id);
      return json(200, { id: batch.id, type: 'message_batch_deleted' });
    },
  },
  {
    on: 'GET /v1/messages/batches/:message_batch_id/results',
    name: 'Message Batch Results',
    summary: 'Download the results as JSON Lines, once the batch has ended',
    type: 'application/jsonl',
    answer: messageBatchResultSchema,
    async handle(incoming, services) {
      const { batch } = await find(incoming, services);
      if (!isFinal(batch.status))
        throw new ApiError(
          'batch_not_finished',
          `The batch is ${batch.status}. Its results are available here once it has ended, and at /v1/batches/${batch.id}/output before.`,
        );
      const lines = await messageResults(services.batches, incoming.caller, batch.id);
      return bytes(incoming.method === 'HEAD' ? null : lines, {
        'content-type': 'application/jsonl; charset=utf-8',
        'x-content-type-options': 'nosniff',
      });
    },
  },
]);

/**
 * Base of the address of results, for a surface with full addresses. Elsewhere it is empty: official clients append a path to their base
 * URL, which only they know.
 */
function resultsBase({ headers, surface }: Incoming): string {
  const base = surface.fullUrls === undefined ? '' : publicUrl(headers);
  return base && `${base}${surface.fullUrls}`;
}

/** @throws ApiError `not_found` also for a batch of another endpoint */
async function find({ caller, param }: Incoming, { batches }: Services): Promise<BatchView> {
  const view = await batches.get(caller, param);
  if (view.batch.endpoint !== endpoint) throw notFound('batch');
  return view;
}

/** Approximate size of the chunks that are sent, in characters. */
const pieceLength = 65_536;
const streams = ['output', 'errors'] as const;

/**
 * Results of a finished batch in the format of `/v1/messages`, succeeded ones first.
 * @throws ApiError as `Batches.results`, before the first byte
 */
async function messageResults(batches: Pick<Batches, 'results'>, caller: Caller, batchId: string) {
  const both = await Promise.all(
    streams.map(async (stream) => (await batches.results(caller, batchId, stream, 0)).read()),
  );
  return (async function* () {
    const encoder = new TextEncoder();
    let piece = '';
    for (const [at, stream] of streams.entries())
      for await (const line of splitLines(both[at]!)) {
        piece += `${messageResultLine(Buffer.from(line.bytes).toString('utf8'), stream)}\n`;
        if (piece.length < pieceLength) continue;
        yield encoder.encode(piece);
        piece = '';
      }
    if (piece !== '') yield encoder.encode(piece);
  })();
}

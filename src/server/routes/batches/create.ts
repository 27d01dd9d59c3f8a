import { inTurns } from '../../../base/loop-turns.ts';
import { parseCreateBatch } from '../../../wire/batch/create.ts';
import { createBatchSchema } from '../../../wire/batch/create-schema.ts';
import { batchJson, presentEstimate } from '../../../wire/batch/present.ts';
import { json, jsonText } from '../../answer.ts';
import { creationOf, replayHeaders } from '../../creation.ts';
import { batchSchema, estimateSchema } from '../../openapi/answer-schemas.ts';
import type { Route, ServerLimits } from '../../route.ts';

/** JSON around the requests, and its white space, may take this share more than they do as JSON Lines. */
const frameFactor = 1.25;

/** The most that the body of a new batch may have. */
export const batchBodyBytes = ({ bytesPerBatch }: Pick<ServerLimits, 'bytesPerBatch'>) =>
  Math.ceil(bytesPerBatch * frameFactor) + 65_536;

/** `POST /v1/batches`, and with `dry_run` what it would cost. */
export const createBatch: Route = {
  method: 'POST',
  path: '/v1/batches',
  access: 'batches',
  body: { maxBytes: batchBodyBytes },
  docs: {
    name: 'Create Batch',
    summary: 'Run the requests of an uploaded file, or inline ones, at half the price',
    tag: 'Batches',
    body: createBatchSchema,
    answer: { status: 201, type: 'application/json', schema: batchSchema },
    otherAnswer: { status: 200, description: 'With dry_run: what it would cost', schema: estimateSchema },
  },
  async handle(incoming, { batches, limits, dates }) {
    const { caller, body } = incoming;
    const { endpoints, windowMs } = batches;
    const most = { endpoints, windowMs, requests: limits.requestsPerBatch, bytes: limits.bytesPerBatch };
    const { input, dryRun } = await inTurns(parseCreateBatch(body.utf8(), most));
    if (dryRun) return json(200, presentEstimate(await batches.dryRun(caller, input)));
    const creation = creationOf(incoming, 'batches')(await body.sha256());
    const { batch, replayed } = await batches.create(caller, input, creation);
    return jsonText(201, batchJson(batch, dates), replayHeaders(replayed));
  },
};

import { createHash } from 'node:crypto';
import { batchJson } from '../../../wire/batch/present.ts';
import { jsonText } from '../../answer.ts';
import { creationOf, replayHeaders } from '../../creation.ts';
import { batchSchema } from '../../openapi/answer-schemas.ts';
import type { Route } from '../../route.ts';

/** `POST /v1/batches/{batch_id}/retry`. Whatever body comes with it is not read. */
export const retryBatch: Route = {
  method: 'POST',
  path: '/v1/batches/:batch_id/retry',
  access: 'batches',
  id: { prefix: 'batch_', what: 'batch' },
  docs: {
    name: 'Retry Batch',
    summary: 'A new batch of the failed requests of a finished one, which stays as it is',
    tag: 'Batches',
    answer: { status: 201, type: 'application/json', schema: batchSchema },
  },
  async handle(incoming, { batches, dates }) {
    const { caller, param } = incoming;
    const creation = creationOf(incoming, 'retries')(createHash('sha256').update(param).digest('hex'));
    const { batch, replayed } = await batches.retry(caller, param, creation);
    return jsonText(201, batchJson(batch, dates), replayHeaders(replayed));
  },
};

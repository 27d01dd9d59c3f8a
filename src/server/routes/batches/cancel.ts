import { batchJson } from '../../../wire/batch/present.ts';
import { jsonText } from '../../answer.ts';
import { batchSchema } from '../../openapi/answer-schemas.ts';
import type { Route } from '../../route.ts';

/** `POST /v1/batches/{batch_id}/cancel`. Whatever body comes with it is not read. */
export const cancelBatch: Route = {
  method: 'POST',
  path: '/v1/batches/:batch_id/cancel',
  access: 'batches',
  id: { prefix: 'batch_', what: 'batch' },
  docs: {
    name: 'Cancel Batch',
    summary: 'End a batch early; what is done is kept and billed',
    tag: 'Batches',
    answer: { status: 200, type: 'application/json', schema: batchSchema },
  },
  handle: async ({ caller, param }, { batches, dates }) =>
    jsonText(200, batchJson(await batches.cancel(caller, param), dates)),
};

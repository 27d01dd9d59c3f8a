import { batchJson } from '../../../wire/batch/present.ts';
import { jsonText } from '../../answer.ts';
import { batchSchema } from '../../openapi/answer-schemas.ts';
import type { Route } from '../../route.ts';

/** `GET /v1/batches/{batch_id}`. */
export const getBatch: Route = {
  method: 'GET',
  path: '/v1/batches/:batch_id',
  access: 'batches',
  id: { prefix: 'batch_', what: 'batch' },
  docs: {
    name: 'Get Batch',
    summary: 'One batch, with its progress and its cost so far',
    tag: 'Batches',
    answer: { status: 200, type: 'application/json', schema: batchSchema },
  },
  handle: async ({ caller, param }, { batches, dates }) =>
    jsonText(200, batchJson(await batches.get(caller, param), dates)),
};

import { batchJson } from '../../../wire/batch/present.ts';
import { jsonText } from '../../answer.ts';
import { batchSchema } from '../../openapi/answer-schemas.ts';
import type { Route } from '../../route.ts';

/** `POST /v1/batches/{batch_id}/pause` and `/resume`. Whatever body comes with them is not read. */
function pausingRoute(verb: 'pause' | 'resume', docs: { name: string; summary: string }): Route {
  return {
    method: 'POST',
    path: `/v1/batches/:batch_id/${verb}`,
    access: 'batches',
    id: { prefix: 'batch_', what: 'batch' },
    docs: { ...docs, tag: 'Batches', answer: { status: 200, type: 'application/json', schema: batchSchema } },
    handle: async ({ caller, param }, { batches, dates }) =>
      jsonText(200, batchJson(await batches[verb](caller, param), dates)),
  };
}

export const pauseBatch = pausingRoute('pause', {
  name: 'Pause Batch',
  summary: 'Send nothing more of a batch until it is resumed; its window goes on',
});

export const resumeBatch = pausingRoute('resume', {
  name: 'Resume Batch',
  summary: 'Let a paused batch go on',
});

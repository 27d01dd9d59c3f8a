import type { ResultStream } from '../../../core/batch.ts';
import { parseResultsQuery } from '../../../wire/batch/list.ts';
import { bytes } from '../../answer.ts';
import { resultsQuery } from '../../openapi/query-schemas.ts';
import type { Route } from '../../route.ts';

/** `GET /v1/batches/{batch_id}/output` and `/errors`: JSONL from creation on, and the headers to go on from there. */
function resultsRoute(stream: ResultStream, docs: { name: string; summary: string }): Route {
  return {
    method: 'GET',
    path: `/v1/batches/:batch_id/${stream}`,
    access: 'batches',
    id: { prefix: 'batch_', what: 'batch' },
    docs: {
      ...docs,
      tag: 'Batches',
      query: resultsQuery,
      answer: { status: 200, type: 'application/jsonl' },
    },
    async handle({ caller, param, query, method }, { batches }) {
      const { after } = parseResultsQuery(query);
      const lines = await batches.results(caller, param, stream, after);
      return bytes(method === 'HEAD' ? null : lines.bytes, {
        'content-type': 'application/jsonl; charset=utf-8',
        'x-content-type-options': 'nosniff',
        'x-batch-status': lines.status,
        'x-incomplete': String(lines.incomplete),
        'x-last-line': String(lines.lastLine),
      });
    },
  };
}

export const getBatchOutput = resultsRoute('output', {
  name: 'Batch Output',
  summary: 'The result lines so far, one a finished request',
});

export const getBatchErrors = resultsRoute('errors', {
  name: 'Batch Errors',
  summary: 'The error lines so far, one a failed request',
});

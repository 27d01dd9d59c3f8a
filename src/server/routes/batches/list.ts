import { parseBatchListQuery } from '../../../wire/batch/list.ts';
import { batchJson } from '../../../wire/batch/present.ts';
import { listJson } from '../../../wire/list.ts';
import { jsonText } from '../../answer.ts';
import { batchSchema, pageOf } from '../../openapi/answer-schemas.ts';
import { batchListQuery } from '../../openapi/query-schemas.ts';
import type { Route } from '../../route.ts';

/** `GET /v1/batches`, newest first. */
export const listBatches: Route = {
  method: 'GET',
  path: '/v1/batches',
  access: 'batches',
  docs: {
    name: 'List Batches',
    summary: 'The batches of the org, newest first',
    tag: 'Batches',
    query: batchListQuery,
    answer: { status: 200, type: 'application/json', schema: pageOf(batchSchema) },
  },
  async handle({ caller, query }, { batches, dates }) {
    const page = await batches.list(caller, parseBatchListQuery(query));
    const items = page.batches.map((view) => ({ id: view.batch.id, json: batchJson(view, dates) }));
    return jsonText(200, listJson(items, page.hasMore));
  },
};

import { replicaId } from '../../inference/replica-id.ts';
import { lineDetailJson, parseLineQuery, presentLinePage } from '../../wire/batch/lines.ts';
import { json, jsonText } from '../answer/answer.ts';
import { lineDetailSchema, lineSchema, linePageOf, operatorLineSchema } from '../openapi/line-schemas.ts';
import { lineListQuery, operatorLineListQuery } from '../openapi/query-schemas.ts';
import type { Incoming, Services } from '../route.ts';
import { defineRoutes } from './define-routes.ts';

const formOf = ({ surface }: Incoming, { catalog }: Services, isOperator: boolean) => ({
  dates: surface.dates,
  isOperator,
  replicaId: (model: string, server: string) => replicaId(catalog.idOf(model), server),
});

export const batchLineRoutes = defineRoutes({ access: 'batches', tag: 'Batches' }, [
  {
    on: 'GET /v1/batches/:batch_id/lines',
    name: 'List Batch Lines',
    summary: 'List the lines of a batch with their states, search them, or take a random sample',
    query: lineListQuery,
    strictQuery: true,
    answer: linePageOf(lineSchema),
    async handle(incoming, services) {
      const { caller, param, query, signal } = incoming;
      const page = await services.batches.lines(caller, param, parseLineQuery(query), signal);
      return json(200, presentLinePage(page, formOf(incoming, services, false)));
    },
  },
  {
    on: 'GET /v1/batches/:batch_id/lines/:line',
    name: 'Get Batch Line',
    summary:
      'Get a line by its number or custom_id, with its request, its answer and the line that it retries',
    answer: lineDetailSchema,
    async handle(incoming, services) {
      const { caller, param, secondParam, signal } = incoming;
      const line = await services.batches.line(caller, param, secondParam, signal);
      return jsonText(200, lineDetailJson(line, formOf(incoming, services, false)));
    },
  },
]);

/** Lines of any org for operators, without prompts, answers and messages of servers. */
export const adminBatchLineRoutes = defineRoutes({ access: 'admin', tag: 'Admin' }, [
  {
    on: 'GET /v1/admin/batches/:batch_id/lines',
    name: 'List Lines of Any Batch',
    summary: 'List the lines of a batch of any org with their states, without prompts and answers',
    query: operatorLineListQuery,
    strictQuery: true,
    answer: linePageOf(operatorLineSchema),
    async handle(incoming, services) {
      const { param, query, signal } = incoming;
      const { batches } = services;
      const owner = await batches.asOwner(param);
      const page = await batches.lines(owner, param, parseLineQuery(query), signal);
      return json(200, presentLinePage(page, formOf(incoming, services, true)));
    },
  },
  {
    on: 'GET /v1/admin/batches/:batch_id/lines/:line',
    name: 'Get Line of Any Batch',
    summary: 'Get a line of a batch of any org by its number or custom_id, without prompt and answer',
    answer: operatorLineSchema,
    async handle(incoming, services) {
      const { param, secondParam, signal } = incoming;
      const { batches } = services;
      const owner = await batches.asOwner(param);
      const line = await batches.line(owner, param, secondParam, signal);
      return jsonText(200, lineDetailJson(line, formOf(incoming, services, true)));
    },
  },
]);

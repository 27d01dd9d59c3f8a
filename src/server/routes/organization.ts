import { heavySlices } from '../../base/loop-slices.ts';
import {
  bucketPage,
  bucketParams,
  parseBucketQuery,
  plainLists,
  type Report,
} from '../../wire/usage/openai-usage.ts';
import { refuseUnknownParams } from '../../wire/shared/query-params.ts';
import { hasScope } from '../../core/org.ts';
import { jsonText } from '../answer/answer.ts';
import { bucketPageSchema } from '../openapi/usage-schemas.ts';
import { bucketQueries } from '../openapi/query-schemas.ts';
import type { Incoming, Services } from '../route.ts';
import { defineRoutes } from './define-routes.ts';

/** Usage in the form of OpenAI's organization API, for tools that read it there. */
export const organizationRoutes = defineRoutes({ access: 'usage', tag: 'Usage' }, [
  {
    on: 'GET /v1/organization/usage/completions',
    name: 'Get Completions Usage',
    summary: 'Get the usage of generation in buckets of time, as OpenAI reports it; an org is a project',
    query: bucketQueries.completions,
    answer: bucketPageSchema,
    handle: (incoming, services) => report('completions', incoming, services),
  },
  {
    on: 'GET /v1/organization/usage/embeddings',
    name: 'Get Embeddings Usage',
    summary: 'Get the usage of embeddings in buckets of time, as OpenAI reports it; an org is a project',
    query: bucketQueries.embeddings,
    answer: bucketPageSchema,
    handle: (incoming, services) => report('embeddings', incoming, services),
  },
  {
    on: 'GET /v1/organization/usage/moderations',
    name: 'Get Moderations Usage',
    summary: 'Get the usage of moderations in buckets of time, as OpenAI reports it; an org is a project',
    query: bucketQueries.moderations,
    answer: bucketPageSchema,
    handle: (incoming, services) => report('moderations', incoming, services),
  },
  {
    on: 'GET /v1/organization/costs',
    name: 'Get Costs',
    summary: 'Get the cost by day, as OpenAI reports it; an org is a project, and a model a line item',
    query: bucketQueries.costs,
    answer: bucketPageSchema,
    handle: (incoming, services) => report('costs', incoming, services),
  },
]);

async function report(kind: Report, { caller, query, signal }: Incoming, { accounts, clock }: Services) {
  const plain = plainLists(query);
  refuseUnknownParams(plain, bucketParams[kind]);
  const asked = parseBucketQuery(kind, plain, clock.now());
  const { orgs, ...filter } = asked.usage.filter ?? {};
  const ids = orgs && hasScope(caller.scopes, 'admin:read') ? await orgIds(orgs, accounts) : orgs;
  const usage = { ...asked.usage, filter: { ...filter, ...(ids && { orgs: ids }) } };
  const { rows } = await accounts.usage(caller, usage, signal);
  return jsonText(200, await heavySlices.run(caller.orgId, bucketPage(asked, rows)));
}

/** @throws ApiError `validation_error` for an org that does not exist */
function orgIds(named: readonly string[], { orgs }: Services['accounts']): Promise<string[]> {
  return Promise.all(named.map(async (each) => (await orgs.find(each, 'project_ids')).id));
}

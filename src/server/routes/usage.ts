import { parseUsageQuery, presentUsage, usageCsv } from '../../wire/usage/report.ts';
import { bytes, json } from '../answer.ts';
import { usageSchema } from '../openapi/usage-schemas.ts';
import { usageQuery } from '../openapi/query-schemas.ts';
import { defineRoutes } from './define-routes.ts';

export const usageRoutes = defineRoutes({ access: 'usage', tag: 'Usage' }, [
  {
    on: 'GET /v1/usage',
    name: 'Get Usage',
    summary: 'Get the usage and cost of the org by day and model, or of all orgs with an admin key',
    query: usageQuery,
    strictQuery: true,
    answer: usageSchema,
    orType: 'text/csv',
    async handle({ caller, query, headers }, { accounts, clock }) {
      const asked = parseUsageQuery(query, clock.now());
      const shown = presentUsage(await accounts.usage(caller, asked), asked);
      if (!/\btext\/csv\b/i.test(headers.accept ?? '')) return json(200, shown);
      return bytes(new Blob([usageCsv(shown)]).stream(), {
        'content-type': 'text/csv; charset=utf-8',
        'x-incomplete': String(shown.has_more),
        ...(shown.last_id !== null && { 'x-last-id': shown.last_id }),
      });
    },
  },
]);

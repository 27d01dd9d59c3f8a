import { jsonText } from '../answer.ts';
import type { Route } from '../route.ts';

/** The OpenAPI document. */
export const getOpenApi: Route = {
  method: 'GET',
  path: '/openapi.json',
  access: 'open',
  docs: {
    name: 'Get OpenAPI',
    summary: 'This document',
    tag: 'Server',
    answer: { status: 200, type: 'application/json' },
  },
  handle: async (_incoming, { openapi }) => jsonText(200, openapi()),
};

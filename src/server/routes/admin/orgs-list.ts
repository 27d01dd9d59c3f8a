import { presentOrg } from '../../../wire/admin/orgs.ts';
import { listBody } from '../../../wire/list.ts';
import { json } from '../../answer.ts';
import { orgSchema, pageOf } from '../../openapi/answer-schemas.ts';
import type { Route } from '../../route.ts';

/** `GET /v1/admin/orgs`: all of them, oldest first. */
export const listOrgs: Route = {
  method: 'GET',
  path: '/v1/admin/orgs',
  access: 'admin',
  docs: {
    name: 'List Orgs',
    summary: 'All orgs, oldest first',
    tag: 'Admin',
    answer: { status: 200, type: 'application/json', schema: pageOf(orgSchema) },
  },
  handle: async (_incoming, { accounts }) =>
    json(200, listBody((await accounts.orgs.list()).map(presentOrg), false)),
};

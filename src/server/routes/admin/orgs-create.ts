import { createOrgSchema, parseCreateOrg, presentOrg } from '../../../wire/admin/orgs.ts';
import { json } from '../../answer.ts';
import { orgSchema } from '../../openapi/answer-schemas.ts';
import { type Route, smallBody } from '../../route.ts';

/** `POST /v1/admin/orgs`. */
export const createOrg: Route = {
  method: 'POST',
  path: '/v1/admin/orgs',
  access: 'admin',
  body: smallBody,
  docs: {
    name: 'Create Org',
    summary: 'Make an org; its keys see nothing of the others',
    tag: 'Admin',
    body: createOrgSchema,
    answer: { status: 201, type: 'application/json', schema: orgSchema },
  },
  handle: async ({ body }, { accounts }) =>
    json(201, presentOrg(await accounts.orgs.create(parseCreateOrg(body.text)))),
};

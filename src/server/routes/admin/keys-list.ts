import { presentKey } from '../../../wire/admin/keys.ts';
import { listBody, textParam } from '../../../wire/list.ts';
import { json } from '../../answer.ts';
import { keySchema, pageOf } from '../../openapi/answer-schemas.ts';
import { keyListQuery } from '../../openapi/query-schemas.ts';
import type { Route } from '../../route.ts';

/** `GET /v1/admin/keys`: all keys, or those of one org, oldest first; revoked ones too. */
export const listKeys: Route = {
  method: 'GET',
  path: '/v1/admin/keys',
  access: 'admin',
  docs: {
    name: 'List Keys',
    summary: 'All keys, or those of one org, without their secrets',
    tag: 'Admin',
    query: keyListQuery,
    answer: { status: 200, type: 'application/json', schema: pageOf(keySchema) },
  },
  async handle({ query }, { accounts }) {
    const keys = await accounts.keys.list(textParam(query, 'org_id'));
    return json(
      200,
      listBody(
        keys.map((key) => presentKey(key)),
        false,
      ),
    );
  },
};

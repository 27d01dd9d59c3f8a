import { invalid } from '../../core/errors.ts';
import type { Catalog } from '../../core/model.ts';
import { createKeySchema, parseCreateKey, presentKey } from '../../wire/admin/keys.ts';
import {
  createOrgSchema,
  parseCreateOrg,
  parseUpdateOrg,
  presentOrg,
  updateOrgSchema,
} from '../../wire/admin/orgs.ts';
import { quoted } from '../../wire/json/parse.ts';
import { listBody } from '../../wire/shared/list-body.ts';
import { textParam } from '../../wire/shared/query-params.ts';
import { json } from '../answer.ts';
import { keySchema, newKeySchema, orgSchema, pageOf } from '../openapi/answer-schemas.ts';
import { keyListQuery } from '../openapi/query-schemas.ts';
import { smallBody, defineRoutes } from './define-routes.ts';

export const adminRoutes = defineRoutes({ access: 'admin', tag: 'Admin' }, [
  {
    on: 'POST /v1/admin/orgs',
    name: 'Create Org',
    summary: 'Create an org. Its keys see only its own data',
    body: createOrgSchema,
    maxBytes: smallBody,
    status: 201,
    answer: orgSchema,
    handle: async ({ body }, { accounts, clock }) =>
      json(201, presentOrg(await accounts.orgs.create(parseCreateOrg(body.text)), clock.now())),
  },
  {
    on: 'GET /v1/admin/orgs',
    name: 'List Orgs',
    summary: 'List all orgs, oldest first, with the state of their budgets',
    strictQuery: true,
    answer: pageOf(orgSchema),
    async handle(_incoming, { accounts, clock }) {
      const orgs = await accounts.orgs.list();
      return json(
        200,
        listBody(
          orgs.map((org) => presentOrg(org, clock.now())),
          false,
        ),
      );
    },
  },
  {
    on: 'PATCH /v1/admin/orgs/:org_id',
    name: 'Update Org',
    summary: 'Change the name or the budget of an org. Takes effect on all processes within a second',
    body: updateOrgSchema,
    maxBytes: smallBody,
    answer: orgSchema,
    handle: async ({ param, body }, { accounts, clock }) =>
      json(200, presentOrg(await accounts.orgs.update(param, parseUpdateOrg(body.text)), clock.now())),
  },
  {
    on: 'POST /v1/admin/keys',
    name: 'Create Key',
    summary: 'Create an API key for an org. The secret is shown only once',
    body: createKeySchema,
    maxBytes: smallBody,
    status: 201,
    answer: newKeySchema,
    async handle({ body }, { accounts, peers }) {
      const { models, ...input } = parseCreateKey(body.text);
      const allowed = models && { models: resolveModels(peers, models) };
      const { apiKey, key } = await accounts.keys.create({ ...input, ...allowed });
      return json(201, presentKey(apiKey, key));
    },
  },
  {
    on: 'GET /v1/admin/keys',
    name: 'List Keys',
    summary: 'List all keys, or those of one org, oldest first, including revoked ones',
    query: keyListQuery,
    strictQuery: true,
    answer: pageOf(keySchema),
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
  },
  {
    // Revoking again succeeds and keeps the first time.
    on: 'DELETE /v1/admin/keys/:key_id',
    name: 'Revoke Key',
    summary: 'Revoke a key. Takes effect on all processes within a second',
    answer: keySchema,
    handle: async ({ param }, { accounts }) => json(200, presentKey(await accounts.keys.revoke(param))),
  },
]);

/** Ids of models given by id or alias. Rejects unknown names, which would make a key that allows no model. */
function resolveModels(known: Pick<Catalog, 'find'>, names: string[]): string[] {
  return names.map((name, index) => {
    const model = known.find(name);
    if (!model) throw invalid(`models[${index}]`, `unknown model ${quoted(name, 200)}`);
    return model.id;
  });
}

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
    summary: 'Make an org; its keys see nothing of the others',
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
    summary: 'All orgs, oldest first, with what they spent of their budgets',
    strictQuery: true,
    answer: pageOf(orgSchema),
    async handle(_incoming, { accounts, clock }) {
      const orgs = await accounts.orgs.list();
      const items = orgs.map((org) => presentOrg(org, clock.now()));
      return json(200, listBody(items, false));
    },
  },
  {
    on: 'PATCH /v1/admin/orgs/:org_id',
    name: 'Update Org',
    summary: 'Change its name, or set or lift its budget, within a second everywhere',
    body: updateOrgSchema,
    maxBytes: smallBody,
    answer: orgSchema,
    handle: async ({ param, body }, { accounts, clock }) =>
      json(200, presentOrg(await accounts.orgs.update(param, parseUpdateOrg(body.text)), clock.now())),
  },
  {
    // The secret is in this answer and nowhere else.
    on: 'POST /v1/admin/keys',
    name: 'Create Key',
    summary: 'Make an API key for an org; the secret is shown once',
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
    // Oldest first, and revoked ones too.
    on: 'GET /v1/admin/keys',
    name: 'List Keys',
    summary: 'All keys, or those of one org, without their secrets',
    query: keyListQuery,
    strictQuery: true,
    answer: pageOf(keySchema),
    async handle({ query }, { accounts }) {
      const keys = await accounts.keys.list(textParam(query, 'org_id'));
      const items = keys.map((key) => presentKey(key));
      return json(200, listBody(items, false));
    },
  },
  {
    // Revoking again is fine and keeps the first instant.
    on: 'DELETE /v1/admin/keys/:key_id',
    name: 'Revoke Key',
    summary: 'Revoke a key, within a second everywhere',
    answer: keySchema,
    handle: async ({ param }, { accounts }) => json(200, presentKey(await accounts.keys.revoke(param))),
  },
]);

/** Ids of models named by id or alias. A name nobody knows would lock the key out silently. */
function resolveModels(known: Pick<Catalog, 'find'>, names: string[]): string[] {
  return names.map((name, index) => {
    const model = known.find(name);
    if (!model) throw invalid(`models[${index}]`, `there is no model ${quoted(name, 200)}`);
    return model.id;
  });
}

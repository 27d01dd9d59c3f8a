import { invalid } from '../../core/errors.ts';
import type { Catalog } from '../../core/model.ts';
import type { KeyChanges } from '../../core/org.ts';
import {
  createKeySchema,
  parseCreateKey,
  parseRotateKey,
  parseUpdateKey,
  presentKey,
  presentRotation,
  rotateKeySchema,
  updateKeySchema,
} from '../../wire/admin/keys.ts';
import {
  createOrgSchema,
  parseCreateOrg,
  parseUpdateOrg,
  presentOrg,
  updateOrgSchema,
} from '../../wire/admin/orgs.ts';
import { joinPath } from '../../wire/schema/explain.ts';
import { quoted } from '../../wire/json/parse.ts';
import { listBody, pageBody } from '../../wire/shared/list-body.ts';
import { optionalPageParams, textParam } from '../../wire/shared/query-params.ts';
import { parseAuditQuery, presentHead } from '../../wire/admin/audit.ts';
import { json } from '../answer/answer.ts';
import {
  auditEntrySchema,
  auditHeadSchema,
  keySchema,
  newKeySchema,
  orgSchema,
  rotatedKeySchema,
} from '../openapi/account-schemas.ts';
import { pageOf } from '../openapi/answer-schemas.ts';
import { accountListLimits, auditListQuery, keyListQuery, orgListQuery } from '../openapi/query-schemas.ts';
import { actorOf } from '../route.ts';
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
    async handle(incoming, { accounts, clock, peers }) {
      const input = withModelIds(peers, parseCreateOrg(incoming.body.text));
      const org = await accounts.orgs.create(actorOf(incoming), input);
      return json(201, presentOrg(org, clock.now()));
    },
  },
  {
    on: 'GET /v1/admin/orgs',
    name: 'List Orgs',
    summary: 'List orgs, oldest first, with the state of their budgets',
    query: orgListQuery,
    strictQuery: true,
    answer: pageOf(orgSchema),
    async handle({ query }, { accounts, clock }) {
      const { limit, after } = optionalPageParams(query, accountListLimits, isOrgId);
      const orgs = await accounts.orgs.list({ limit: limit && limit + 1, after });
      const items = orgs.map((org) => presentOrg(org, clock.now()));
      return json(200, pageBody(items, limit));
    },
  },
  {
    on: 'GET /v1/admin/orgs/:org_id',
    name: 'Retrieve Org',
    summary: 'Get an org with its settings and the state of its budget',
    answer: orgSchema,
    handle: async ({ param }, { accounts, clock }) =>
      json(200, presentOrg(await accounts.orgs.get(param), clock.now())),
  },
  {
    on: 'PATCH /v1/admin/orgs/:org_id',
    name: 'Update Org',
    summary: 'Change settings of an org. Takes effect on all processes within a second',
    body: updateOrgSchema,
    maxBytes: smallBody,
    answer: orgSchema,
    async handle(incoming, { accounts, clock, peers }) {
      const changes = withModelIds(peers, parseUpdateOrg(incoming.body.text));
      const org = await accounts.orgs.update(actorOf(incoming), incoming.param, changes);
      return json(200, presentOrg(org, clock.now()));
    },
  },
  {
    on: 'POST /v1/admin/keys',
    name: 'Create Key',
    summary: 'Create an API key for an org. The secret is shown only once',
    body: createKeySchema,
    maxBytes: smallBody,
    status: 201,
    answer: newKeySchema,
    async handle(incoming, { accounts, clock, peers }) {
      const input = withModelIds(peers, parseCreateKey(incoming.body.text));
      const { apiKey, key } = await accounts.keys.create(actorOf(incoming), input);
      return json(201, presentKey(apiKey, clock.now(), key));
    },
  },
  {
    on: 'GET /v1/admin/keys',
    name: 'List Keys',
    summary: 'List keys, or those of one org, oldest first, including revoked ones',
    query: keyListQuery,
    strictQuery: true,
    answer: pageOf(keySchema),
    async handle({ query }, { accounts, clock }) {
      const { limit, after } = optionalPageParams(query, accountListLimits, isKeyId);
      const page = { limit: limit && limit + 1, after };
      const keys = await accounts.keys.list(textParam(query, 'org_id'), page);
      const items = keys.map((key) => presentKey(key, clock.now()));
      return json(200, pageBody(items, limit));
    },
  },
  {
    on: 'GET /v1/admin/keys/:key_id',
    name: 'Retrieve Key',
    summary: 'Get a key with its settings, without its secret',
    answer: keySchema,
    handle: async ({ param }, { accounts, clock }) =>
      json(200, presentKey(await accounts.keys.get(param), clock.now())),
  },
  {
    on: 'PATCH /v1/admin/keys/:key_id',
    name: 'Update Key',
    summary: 'Change settings of a key. Takes effect on all processes within a second',
    body: updateKeySchema,
    maxBytes: smallBody,
    answer: keySchema,
    async handle(incoming, { accounts, clock, peers }) {
      const changes = withModelIds(peers, parseUpdateKey(incoming.body.text));
      const key = await accounts.keys.update(actorOf(incoming), incoming.param, changes);
      return json(200, presentKey(key, clock.now()));
    },
  },
  {
    on: 'POST /v1/admin/keys/:key_id/rotate',
    name: 'Rotate Key',
    summary:
      'Create a key with the settings of another one, which stops working after an overlap. The secret is shown only once',
    body: rotateKeySchema,
    optionalBody: true,
    maxBytes: smallBody,
    status: 201,
    answer: rotatedKeySchema,
    async handle(incoming, { accounts, clock }) {
      const overlapMs = parseRotateKey(incoming.body.text);
      const actor = actorOf(incoming);
      const { apiKey, key, replaced } = await accounts.keys.rotate(actor, incoming.param, overlapMs);
      return json(201, presentRotation(apiKey, clock.now(), key, replaced));
    },
  },
  {
    // A second revocation succeeds and keeps the time of the first.
    on: 'DELETE /v1/admin/keys/:key_id',
    name: 'Revoke Key',
    summary: 'Revoke a key. Takes effect on all processes within a second',
    answer: keySchema,
    handle: async (incoming, { accounts, clock }) =>
      json(200, presentKey(await accounts.keys.revoke(actorOf(incoming), incoming.param), clock.now())),
  },
  {
    on: 'GET /v1/admin/audit',
    name: 'List Audit Log',
    summary: 'List the changes that administrators made, newest first by default',
    query: auditListQuery,
    strictQuery: true,
    answer: pageOf(auditEntrySchema, { head: auditHeadSchema }),
    async handle({ query }, { accounts }) {
      const { entries, hasMore, head } = await accounts.audit.list(parseAuditQuery(query));
      return json(200, { ...listBody(entries, hasMore), head: presentHead(head) });
    },
  },
]);

/**
 * Replaces names of models by ids. Rejects unknown names, because a key could then use no model, and a limit would have no effect. The
 * limit of a model that is gone can be lifted by its id.
 */
function withModelIds<T extends Pick<KeyChanges, 'models' | 'limits'>>(known: Known, changes: T): T {
  const { models, limits } = changes;
  const queuedTokens = limits?.queuedTokens;
  return {
    ...changes,
    ...(models && { models: models.map((name, index) => modelId(known, name, `models[${index}]`)) }),
    ...(queuedTokens && { limits: { ...limits, queuedTokens: byModelId(known, queuedTokens) } }),
  };
}

const isOrgId = (id: string) => id.startsWith('org_');
const isKeyId = (id: string) => id.startsWith('key_');

type Known = Pick<Catalog, 'find'>;

function modelId(known: Known, name: string, param: string): string {
  const model = known.find(name);
  if (!model) throw invalid(param, `unknown model ${quoted(name, 200)}`);
  return model.id;
}

function byModelId(known: Known, limits: Readonly<Record<string, number | null>>) {
  const byId: Record<string, number | null> = {};
  for (const [name, limit] of Object.entries(limits)) {
    const param = joinPath('limits.queued_tokens', name);
    const id = limit === null ? (known.find(name)?.id ?? name) : modelId(known, name, param);
    if (Object.hasOwn(byId, id)) throw invalid(param, `a second name of the model ${quoted(id, 200)}`);
    byId[id] = limit;
  }
  return byId;
}

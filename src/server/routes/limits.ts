import { familyOf } from '../../core/key-family.ts';
import { presentLimits } from '../../wire/usage/limits.ts';
import { json } from '../answer/answer.ts';
import { limitListSchema } from '../openapi/limit-schemas.ts';
import { defineRoutes } from './define-routes.ts';

/** Limits in force with their use: of the caller, and for operators of any org and key. */
export const limitRoutes = [
  ...defineRoutes({ access: 'key', tag: 'Usage' }, [
    {
      on: 'GET /v1/limits',
      name: 'Get Limits',
      summary: 'Get the limits of this key and its org, and how much of each is used',
      strictQuery: true,
      answer: limitListSchema,
      async handle({ caller }, { accounts, limitReport }) {
        const { orgId, keyId, limits } = caller;
        const [names, uses] = await Promise.all([
          accounts.orgs.names(),
          limitReport.read({
            orgId,
            orgLimits: limits?.org ?? {},
            key: { family: familyOf(caller), limits: limits?.key ?? {} },
          }),
        ]);
        return json(200, presentLimits({ orgId, org: names.get(orgId) ?? null, keyId }, uses));
      },
    },
  ]),
  ...defineRoutes({ access: 'admin', tag: 'Admin' }, [
    {
      on: 'GET /v1/admin/orgs/:org_id/limits',
      name: 'Get Org Limits',
      summary: 'Get the limits of an org, and how much of each is used',
      strictQuery: true,
      answer: limitListSchema,
      async handle({ param }, { accounts, limitReport }) {
        const { id, name, limits } = await accounts.orgs.get(param);
        const uses = await limitReport.read({ orgId: id, orgLimits: limits });
        return json(200, presentLimits({ orgId: id, org: name, keyId: null }, uses));
      },
    },
    {
      on: 'GET /v1/admin/keys/:key_id/limits',
      name: 'Get Key Limits',
      summary: 'Get the limits of a key and its org, and how much of each is used',
      strictQuery: true,
      answer: limitListSchema,
      async handle({ param }, { accounts, limitReport }) {
        const { id, orgId, family, limits } = await accounts.keys.get(param);
        const org = await accounts.orgs.get(orgId);
        const uses = await limitReport.read({
          orgId,
          orgLimits: org.limits,
          key: { family: familyOf({ keyId: id, keyFamily: family }), limits },
        });
        return json(200, presentLimits({ orgId, org: org.name, keyId: id }, uses));
      },
    },
  ]),
];

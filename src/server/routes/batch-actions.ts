import type { ActionCaller } from '../../batches/actions/batch-actions.ts';
import {
  actionSchema,
  operatorActionSchema,
  parseAction,
  presentAction,
  presentPreview,
} from '../../wire/batch/actions.ts';
import { type Answer, json } from '../answer/answer.ts';
import { idempotencyTokens, replayHeaders } from '../request/idempotency.ts';
import { batchActionSchema, previewSchema } from '../openapi/action-schemas.ts';
import { actorOf, type Incoming, type Services } from '../route.ts';
import { defineRoutes, smallBody } from './define-routes.ts';

const otherAnswer = { status: 200, description: 'Counts, with dry_run', schema: previewSchema } as const;

export const batchActionRoutes = defineRoutes({ access: 'batches', tag: 'Batches' }, [
  {
    on: 'POST /v1/batches/actions',
    name: 'Act on Batches',
    summary: 'Pause, resume, cancel or retry many batches, given by ids or by a filter, one after the other',
    body: actionSchema,
    maxBytes: smallBody,
    status: 201,
    answer: batchActionSchema,
    otherAnswer,
    handle: (incoming, services) => create(incoming, services, own(incoming)),
  },
  {
    on: 'GET /v1/batches/actions/:action_id',
    name: 'Get Batch Action',
    summary: 'Get the progress of an action on many batches',
    answer: batchActionSchema,
    handle: (incoming, services) => read('get', incoming, services, own(incoming)),
  },
  {
    on: 'POST /v1/batches/actions/:action_id/cancel',
    name: 'Cancel Batch Action',
    summary: 'Stop an action on many batches. Batches that it has changed stay changed',
    answer: batchActionSchema,
    handle: (incoming, services) => read('cancel', incoming, services, own(incoming)),
  },
]);

/** Actions of operators on the batches of all orgs, which the audit log records for each batch. */
export const adminBatchActionRoutes = defineRoutes({ access: 'admin', tag: 'Admin' }, [
  {
    on: 'POST /v1/admin/batches/actions',
    name: 'Act on Any Batches',
    summary: 'Pause, resume, cancel, retry or reprioritize many batches of any org, one after the other',
    body: operatorActionSchema,
    maxBytes: smallBody,
    status: 201,
    answer: batchActionSchema,
    otherAnswer,
    handle: (incoming, services) => create(incoming, services, operator(incoming)),
  },
  {
    on: 'GET /v1/admin/batches/actions/:action_id',
    name: 'Get Any Batch Action',
    summary: 'Get the progress of an action of an operator',
    answer: batchActionSchema,
    handle: (incoming, services) => read('get', incoming, services, operator(incoming)),
  },
  {
    on: 'POST /v1/admin/batches/actions/:action_id/cancel',
    name: 'Cancel Any Batch Action',
    summary: 'Stop an action of an operator. Batches that it has changed stay changed',
    answer: batchActionSchema,
    handle: (incoming, services) => read('cancel', incoming, services, operator(incoming)),
  },
]);

function own({ caller }: Incoming): ActionCaller {
  return { caller, orgId: caller.orgId, actor: null };
}

function operator(incoming: Incoming): ActionCaller {
  return { caller: incoming.caller, orgId: undefined, actor: actorOf(incoming) };
}

async function create(incoming: Incoming, services: Services, by: ActionCaller): Promise<Answer> {
  const { accounts, batches } = services;
  const { body, signal, surface } = incoming;
  const { filter: given, ...request } = parseAction(body.text, by.actor !== null);
  const { org, ...filter } = given ?? {};
  const orgId = org === undefined ? by.orgId : (await accounts.orgs.find(org)).id;
  const chosen = given ? { ...request, filter } : request;
  if (request.dryRun) {
    const preview = await batches.actions.preview({ ...by, orgId }, chosen, signal);
    return json(200, presentPreview(request.options, preview));
  }
  const token = idempotencyTokens(incoming, 'actions')(await body.sha256());
  const { action, replayed } = await batches.actions.create({ ...by, orgId }, chosen, token, signal);
  return json(201, presentAction(action, surface.dates), replayHeaders(replayed));
}

async function read(
  verb: 'get' | 'cancel',
  { param, surface }: Incoming,
  { batches }: Services,
  by: ActionCaller,
): Promise<Answer> {
  return json(200, presentAction(await batches.actions[verb](by, param), surface.dates));
}

import type { Fields } from '../../base/fields.ts';
import { changedFields } from '../../core/audit.ts';
import { ApiError } from '../../core/errors.ts';
import type { ResultStream } from '../../core/batch.ts';
import type { Caller } from '../../core/org.ts';
import { parseAllBatchesQuery } from '../../wire/batch/list.ts';
import { parseRetry, retrySchema } from '../../wire/batch/retry.ts';
import { presentCounts } from '../../wire/batch/counts.ts';
import { type BatchView, operatorBatchJson, presentEstimate } from '../../wire/batch/present.ts';
import { textParam } from '../../wire/shared/query-params.ts';
import { listJson } from '../../wire/shared/list-body.ts';
import { parseUpdateBatch, updateBatchSchema } from '../../wire/admin/batches.ts';
import { type Answer, json, jsonText } from '../answer/answer.ts';
import { replayHeaders } from '../request/idempotency.ts';
import { batchCountsSchema, estimateSchema, operatorBatchSchema, pageOf } from '../openapi/answer-schemas.ts';
import { allBatchCountsQuery, allBatchesQuery, resultsQuery } from '../openapi/query-schemas.ts';
import { actorOf, type Incoming, type MountedRoute, type Services } from '../route.ts';
import { resultLines, retryToken } from './batches.ts';
import { defineRoutes, smallBody } from './define-routes.ts';

/**
 * Batches of all orgs for operators: the operations of the orgs, called for the owner. An operator
 * sees the metadata of a batch alone, except for the results of a disabled org, whose own keys are refused.
 */
export const adminBatchRoutes = defineRoutes({ access: 'admin', tag: 'Admin' }, [
  {
    on: 'GET /v1/admin/batches',
    name: 'List All Batches',
    summary: 'List the batches of all orgs, newest first',
    query: allBatchesQuery,
    strictQuery: true,
    answer: pageOf(operatorBatchSchema),
    async handle({ query, signal, surface }, { accounts, batches }) {
      const { org, ...filters } = parseAllBatchesQuery(query);
      const orgId = org === undefined ? undefined : (await accounts.orgs.find(org)).id;
      const page = await batches.listAll({ ...filters, orgId }, signal);
      const names = await accounts.orgs.names();
      const items = page.batches.map((view) => ({
        id: view.batch.id,
        json: operatorBatchJson(view, surface.dates, names.get(view.batch.orgId) ?? null),
      }));
      return jsonText(200, listJson(items, page.hasMore));
    },
  },
  {
    on: 'GET /v1/admin/batches/counts',
    name: 'Batch Counts of All Orgs',
    summary: 'Count the batches of all orgs, or of one, in each state',
    query: allBatchCountsQuery,
    strictQuery: true,
    answer: batchCountsSchema,
    async handle({ query }, { accounts, batches }) {
      const org = textParam(query, 'org');
      const orgId = org === undefined ? undefined : (await accounts.orgs.find(org)).id;
      return json(200, presentCounts(await batches.countByStatus(orgId)));
    },
  },
  {
    on: 'GET /v1/admin/batches/:batch_id',
    name: 'Get Any Batch',
    summary: 'Get a batch of any org',
    answer: operatorBatchSchema,
    async handle(incoming, services) {
      const { batches } = services;
      const { param } = incoming;
      const view = await batches.get(await batches.asOwner(param), param);
      return jsonText(200, await textOf(incoming, services, view));
    },
  },
  {
    on: 'POST /v1/admin/batches/:batch_id/cancel',
    name: 'Cancel Any Batch',
    summary: 'Cancel a batch of any org. Finished results are kept and billed',
    answer: operatorBatchSchema,
    handle: action('cancel'),
  },
  {
    on: 'POST /v1/admin/batches/:batch_id/pause',
    name: 'Pause Any Batch',
    summary: 'Stop sending requests of a batch of any org. Its org can resume it',
    answer: operatorBatchSchema,
    handle: action('pause'),
  },
  {
    on: 'POST /v1/admin/batches/:batch_id/resume',
    name: 'Resume Any Batch',
    summary: 'Resume a paused batch of any org',
    answer: operatorBatchSchema,
    handle: action('resume'),
  },
  {
    on: 'GET /v1/admin/batches/:batch_id/output',
    access: 'admin',
    name: 'Output of Disabled Org',
    summary: 'Download the result lines of a batch of a disabled org, which the audit log records',
    query: resultsQuery,
    strictQuery: true,
    type: 'application/jsonl',
    handle: auditedResults('output'),
  },
  {
    on: 'GET /v1/admin/batches/:batch_id/errors',
    access: 'admin',
    name: 'Errors of Disabled Org',
    summary: 'Download the error lines of a batch of a disabled org, which the audit log records',
    query: resultsQuery,
    strictQuery: true,
    type: 'application/jsonl',
    handle: auditedResults('errors'),
  },
  {
    on: 'PATCH /v1/admin/batches/:batch_id',
    name: 'Update Any Batch',
    summary: 'Change the priority of a batch within its org, also above that of its key',
    body: updateBatchSchema,
    maxBytes: smallBody,
    answer: operatorBatchSchema,
    handle: (incoming, services) =>
      change(incoming, services, 'update', (owner, id) =>
        services.batches.setPriority(owner, id, parseUpdateBatch(incoming.body.text).priority),
      ),
  },
  {
    on: 'POST /v1/admin/batches/:batch_id/retry',
    name: 'Retry Any Batch',
    summary: 'Create a new batch of the failed requests of a finished one, for its org and at its cost',
    body: retrySchema,
    optionalBody: true,
    maxBytes: smallBody,
    status: 201,
    answer: operatorBatchSchema,
    otherAnswer: { status: 200, description: 'Cost estimate, with dry_run', schema: estimateSchema },
    async handle(incoming, services) {
      const { param, body, surface } = incoming;
      const { accounts, batches } = services;
      const { options, dryRun } = parseRetry(body.text, batches.windows);
      const owner = await batches.asOwner(param);
      if (dryRun)
        return json(200, presentEstimate(await batches.retryDryRun(owner, param, options), surface.dates));
      const token = retryToken(incoming, options);
      const { batch, replayed } = await batches.retry(owner, param, options, token);
      const after = { batch_id: batch.batch.id, ...(options.codes && { codes: options.codes }) };
      if (!replayed)
        await accounts.audit.add(actorOf(incoming), {
          action: 'batch.retry',
          target: param,
          before: null,
          after,
        });
      return jsonText(201, await textOf(incoming, services, batch), replayHeaders(replayed));
    },
  },
]);

/** Fields that an operation changes, for the audit log. */
const auditedFields = {
  cancel: ({ batch }: BatchView) => ({ status: batch.status }),
  pause: ({ batch }: BatchView) => ({ paused: batch.pausedAt !== null }),
  resume: ({ batch }: BatchView) => ({ paused: batch.pausedAt !== null }),
  update: ({ batch }: BatchView) => ({ priority: batch.priority }),
};

/** Changes a batch for its owner, and adds what has changed to the audit log. */
async function change(
  incoming: Incoming,
  services: Services,
  verb: keyof typeof auditedFields,
  make: (owner: Caller, id: string) => Promise<BatchView>,
): Promise<Answer> {
  const { accounts, batches } = services;
  const { param } = incoming;
  const owner = await batches.asOwner(param);
  const fields = auditedFields[verb];
  const before = fields(await batches.get(owner, param));
  const view = await make(owner, param);
  const changed = changedFields<Fields>(before, fields(view));
  if (changed)
    await accounts.audit.add(actorOf(incoming), { action: `batch.${verb}`, target: param, ...changed });
  return jsonText(200, await textOf(incoming, services, view));
}

/** Results of a batch of a disabled org, whose own keys cannot read them. */
function auditedResults(stream: ResultStream): MountedRoute['handle'] {
  return async (incoming, services) => {
    const { accounts, batches } = services;
    const { param } = incoming;
    const owner = await batches.asOwner(param);
    if ((await accounts.orgs.get(owner.orgId)).disabledAt === null)
      throw new ApiError(
        'permission_denied',
        'An admin key reads results only of a disabled org. Use a key of the org.',
      );
    const answer = await resultLines(stream)({ ...incoming, caller: owner }, services);
    const read = { action: 'batch.read', target: param, before: null, after: { stream } } as const;
    await accounts.audit.add(actorOf(incoming), read);
    return answer;
  };
}

function action(verb: 'cancel' | 'pause' | 'resume'): MountedRoute['handle'] {
  return (incoming, services) =>
    change(incoming, services, verb, (owner, id) => services.batches[verb](owner, id));
}

async function textOf({ surface }: Incoming, { accounts }: Services, view: BatchView): Promise<string> {
  return operatorBatchJson(view, surface.dates, (await accounts.orgs.names()).get(view.batch.orgId) ?? null);
}

import { fleetReplicas } from '../../inference/replicas.ts';
import { presentProcess } from '../../wire/admin/processes.ts';
import { type ModelSlots, presentModelQueue } from '../../wire/admin/queue.ts';
import { parseRequestsQuery, presentRequest } from '../../wire/admin/requests.ts';
import { listBody, pageOfItems } from '../../wire/shared/list-body.ts';
import { json } from '../answer/answer.ts';
import { processListSchema, queueSchema, requestSchema } from '../openapi/admin-schemas.ts';
import { pageOf } from '../openapi/answer-schemas.ts';
import { requestListQuery } from '../openapi/query-schemas.ts';
import type { Services } from '../route.ts';
import { defineRoutes } from './define-routes.ts';

/** Load of the installation, for operators: the work of batches by model, and the last single requests. */
export const loadRoutes = defineRoutes({ access: 'admin', tag: 'Admin' }, [
  {
    on: 'GET /v1/admin/queue',
    name: 'Get Queue',
    summary:
      'Get the work that batches have left by model, the time it takes, the time to spare, and the slots in use',
    strictQuery: true,
    answer: queueSchema,
    async handle(_incoming, services) {
      const { accounts, batches, clock, peers } = services;
      const [{ models: work, rateOf }, orgs] = await Promise.all([batches.openWork(), accounts.orgs.list()]);
      const byModel = new Map(work.map((each) => [each.model, each]));
      const shares = new Map(orgs.map(({ id, name, weight }) => [id, { name, weight }]));
      const slots = slotsByModel(services);
      const ids = new Set([...peers.list().map(({ id }) => id), ...byModel.keys()]);
      const data = [...ids].map((model) =>
        presentModelQueue(
          model,
          slots.get(model) ?? noSlots,
          shares,
          {
            work: byModel.get(model),
            rate: rateOf(model),
            waiting: batches.modelWaiting(model),
            hours: peers.find(model)?.hours,
          },
          clock.now(),
        ),
      );
      return json(200, { object: 'list', data, has_more: false });
    },
  },
  {
    on: 'GET /v1/admin/processes',
    name: 'List Processes',
    summary: 'List the server processes on the database, with their requests in flight and their leases',
    strictQuery: true,
    answer: processListSchema,
    async handle(_incoming, { batches }) {
      const all = await batches.processes();
      const data = all.map((each) => presentProcess(each, batches.processId));
      return json(200, { object: 'list', data, has_more: false });
    },
  },
  {
    on: 'GET /v1/admin/requests',
    name: 'List Requests',
    summary:
      'List the last 1,000 single requests that this process answered, newest first, without their content',
    query: requestListQuery,
    strictQuery: true,
    answer: pageOf(requestSchema),
    async handle({ query }, { accounts, batches, peers, recentRequests }) {
      const { org, model, keyId, statuses, limit, after } = parseRequestsQuery(query);
      const orgId = org === undefined ? undefined : (await accounts.orgs.find(org)).id;
      const modelId = model === undefined ? undefined : peers.idOf(model);
      const names = await accounts.orgs.names();
      const found = recentRequests
        .list()
        .filter(
          (each) =>
            (orgId === undefined || each.orgId === orgId) &&
            (modelId === undefined || each.model === modelId) &&
            (keyId === undefined || each.keyId === keyId) &&
            (!statuses || (each.status >= statuses.from && each.status <= statuses.to)),
        );
      const { items, hasMore } = pageOfItems(found, { limit, order: 'desc', ...(after && { after }) });
      const shown = items.map((each) =>
        presentRequest(each, batches.processId, names.get(each.orgId) ?? null),
      );
      return json(200, listBody(shown, hasMore));
    },
  },
]);

const noSlots: ModelSlots = { slots: 0, found: null, inUse: 0, inFlight: 0 };

/** Slots of all models, over all processes. A server that is drained has none. */
function slotsByModel(services: Services): Map<string, ModelSlots> {
  const drained = new Set(services.controls.drains.map(({ id }) => id));
  const byModel = new Map<string, ModelSlots>();
  for (const { id, model, health, slots, discovered, inFlight } of fleetReplicas(services)) {
    const isDrained = health === 'draining' || drained.has(id);
    const sum = byModel.get(model) ?? { ...noSlots };
    byModel.set(model, sum);
    sum.inFlight += inFlight;
    if (isDrained) continue;
    sum.slots += slots;
    sum.inUse += Math.min(inFlight, slots);
    if (discovered !== null) sum.found = (sum.found ?? 0) + discovered;
  }
  return byModel;
}

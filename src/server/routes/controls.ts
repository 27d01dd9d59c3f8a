import { notFound, invalid } from '../../core/errors.ts';
import type { PauseScope } from '../../core/controls.ts';
import { fleetReplicas } from '../../inference/replicas.ts';
import {
  type NamedScope,
  parsePauseScope,
  parseReplicaCap,
  pauseScopeSchema,
  presentPauses,
  presentReplica,
  presentReplicas,
  replicaCapSchema,
  type ReplicaView,
} from '../../wire/admin/controls.ts';
import { quoted } from '../../wire/json/parse.ts';
import { json } from '../answer/answer.ts';
import { pauseListSchema, replicaListSchema, replicaSchema } from '../openapi/admin-schemas.ts';
import { actorOf, type MountedRoute, type Services } from '../route.ts';
import { defineRoutes, smallBody } from './define-routes.ts';

/** Controls of operators: pauses of batch lines, drains and caps of replicas. All processes follow them within a second. */
export const controlRoutes = defineRoutes({ access: 'admin', tag: 'Admin' }, [
  {
    on: 'GET /v1/admin/pause',
    name: 'List Pauses',
    summary: 'List the pauses of batches in force, oldest first',
    strictQuery: true,
    answer: pauseListSchema,
    handle: async (_incoming, { accounts, controls }) =>
      json(200, presentPauses(controls.pauses, await accounts.orgs.names())),
  },
  {
    on: 'POST /v1/admin/pause',
    name: 'Pause Batches',
    summary:
      'Send no more requests of batches of a model, of an org, or of everything. Requests in flight finish, and single requests go on',
    body: pauseScopeSchema,
    maxBytes: smallBody,
    answer: pauseListSchema,
    handle: changePauses('pause'),
  },
  {
    on: 'POST /v1/admin/resume',
    name: 'Resume Batches',
    summary: 'End the pauses of a model, of an org, or of everything. Returns the pauses still in force',
    body: pauseScopeSchema,
    maxBytes: smallBody,
    answer: pauseListSchema,
    handle: changePauses('resume'),
  },
  {
    on: 'GET /v1/admin/replicas',
    name: 'List Replicas',
    summary: 'List the servers of all models, with their state, slots and requests in flight',
    strictQuery: true,
    answer: replicaListSchema,
    handle: async (_incoming, services) => json(200, presentReplicas(viewReplicas(services))),
  },
  {
    // A second drain keeps the time of the first.
    on: 'POST /v1/admin/replicas/:replica_id/drain',
    name: 'Drain Replica',
    summary: 'Send no new requests to a server, until it is undrained. Requests in flight finish',
    answer: replicaSchema,
    async handle(incoming, services) {
      const { param } = incoming;
      const { id, report } = findReplica(services, param);
      const actor = actorOf(incoming);
      if (report) await services.controls.drain({ id, model: report.model, server: report.name }, actor);
      return json(200, presentReplica(findReplica(services, param)));
    },
  },
  {
    on: 'POST /v1/admin/replicas/:replica_id/undrain',
    name: 'Undrain Replica',
    summary: 'Send requests to a server again, unless the configuration drains it',
    answer: replicaSchema,
    handle: endControl('undrain'),
  },
  {
    // The same cap again keeps the time of the first.
    on: 'POST /v1/admin/replicas/:replica_id/cap',
    name: 'Cap Replica',
    summary:
      'Keep the requests in flight at a server within a number, until it is uncapped. Those above it finish',
    body: replicaCapSchema,
    maxBytes: smallBody,
    answer: replicaSchema,
    async handle(incoming, services) {
      const { param, body } = incoming;
      const maxInFlight = parseReplicaCap(body.text);
      const { id, report } = findReplica(services, param);
      if (!report) throw notFound('replica');
      const replica = { id, model: report.model, server: report.name };
      await services.controls.cap({ ...replica, maxInFlight }, actorOf(incoming));
      return json(200, presentReplica(findReplica(services, param)));
    },
  },
  {
    on: 'POST /v1/admin/replicas/:replica_id/uncap',
    name: 'Uncap Replica',
    summary: 'Use all slots of a server again',
    answer: replicaSchema,
    handle: endControl('uncap'),
  },
]);

/** Handler that ends a drain or a cap. */
function endControl(change: 'undrain' | 'uncap'): MountedRoute['handle'] {
  return async (incoming, services) => {
    const { id, report } = findReplica(services, incoming.param);
    await services.controls[change](id, actorOf(incoming));
    // A server that no process lists is gone now.
    return json(200, presentReplica(currentReplica(services, id) ?? { id, ...(report && { report }) }));
  };
}

/** Handler of a change, which answers with the pauses in force. */
function changePauses(change: 'pause' | 'resume'): MountedRoute['handle'] {
  return async (incoming, services) => {
    const scope = await resolveScope(parsePauseScope(incoming.body.text), services);
    const pauses = await services.controls[change](scope, actorOf(incoming));
    return json(200, presentPauses(pauses, await services.accounts.orgs.names()));
  };
}

/** @throws ApiError `validation_error` for an unknown model or org */
async function resolveScope(
  { model, org }: NamedScope,
  { accounts, controls, peers }: Services,
): Promise<PauseScope> {
  return {
    model: model ? resolveModel(model) : null,
    orgId: org ? (await accounts.orgs.find(org)).id : null,
  };

  function resolveModel(name: string): string {
    const known = peers.find(name)?.id;
    // A pause outlives its model.
    if (known === undefined && !controls.pauses.some((pause) => pause.model === name))
      throw invalid('model', `unknown model ${quoted(name, 200)}`);
    return known ?? name;
  }
}

/** Replicas of all processes, then drained and capped ones that no process lists. */
function viewReplicas(services: Services): ReplicaView[] {
  const drains = new Map(services.controls.drains.map((drain) => [drain.id, drain]));
  const caps = new Map(services.controls.caps.map((cap) => [cap.id, cap]));
  const reports = new Map(fleetReplicas(services).map((report) => [report.id, report]));
  return [...new Set([...reports.keys(), ...drains.keys(), ...caps.keys()])].map((id) => {
    const report = reports.get(id);
    return { id, ...(report && { report }), drain: drains.get(id), cap: caps.get(id) };
  });
}

function currentReplica(services: Services, id: string): ReplicaView | undefined {
  return viewReplicas(services).find((replica) => replica.id === id);
}

/** @throws ApiError `not_found` */
function findReplica(services: Services, id: string): ReplicaView {
  const found = currentReplica(services, id);
  if (!found) throw notFound('replica');
  return found;
}

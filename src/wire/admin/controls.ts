import { isoSeconds } from '../../base/clock.ts';
import type { BatchPause, ReplicaCap, ReplicaDrain } from '../../core/controls.ts';
import { invalid } from '../../core/errors.ts';
import type { ReplicaReport } from '../../core/replica-state.ts';
import { toWaiting } from '../../core/waiting.ts';
import { integer, nameRule, object, stringOrNull } from '../schema/schema.ts';
import { parseBody, validator } from '../schema/validate.ts';
import { presentWaiting } from '../shared/waiting.ts';

/** Body of `POST /v1/admin/pause` and `/v1/admin/resume`. */
export const pauseScopeSchema = object(
  {
    'model?': stringOrNull({
      minLength: 1,
      maxLength: 256,
      ...nameRule,
      description: 'Only batches of this model, given by its id or an alias.',
    }),
    'org?': stringOrNull({
      minLength: 1,
      maxLength: 200,
      ...nameRule,
      description: 'Only batches of this org, given by its id or its name.',
    }),
    'everything?': {
      type: ['boolean', 'null'],
      enum: [true, null],
      description: 'All batches; excludes `model` and `org`.',
    },
  },
  { additionalProperties: false, title: 'PauseScope' },
);

/** Scope as an operator names it: a model, an org, both, or everything. */
export interface NamedScope {
  model?: string | null;
  org?: string | null;
  everything?: true | null;
}

const check = validator(pauseScopeSchema);

/**
 * A null is as if absent, and a scope that names nothing is refused: a script whose variable is unset must not stop the whole server.
 * @throws ApiError `validation_error`
 */
export function parsePauseScope(text: string): NamedScope {
  const { model, org, everything } = parseBody<NamedScope>(text, check).value;
  const isNamed = (model ?? org ?? null) !== null;
  if (everything && isNamed) throw invalid('everything', 'excludes model and org');
  if (!everything && !isNamed)
    throw invalid('everything', 'name a model or an org, or send {"everything": true} for all batches');
  return { ...(model && { model }), ...(org && { org }) };
}

/** @param orgs names by id */
export function presentPauses(pauses: readonly BatchPause[], orgs: ReadonlyMap<string, string>) {
  const data = pauses.map(({ model, orgId, since, keyId }) => ({
    object: 'batch_pause' as const,
    model,
    org_id: orgId,
    org: orgId === null ? null : (orgs.get(orgId) ?? null),
    since: isoSeconds(since),
    key_id: keyId,
  }));
  return { object: 'list' as const, data, has_more: false };
}

/** Body of `POST /v1/admin/replicas/{id}/cap`. */
export const replicaCapSchema = object(
  {
    max_in_flight: integer({
      minimum: 1,
      maximum: 100_000,
      description: 'Most requests in flight, of batches and single ones. To send none, drain the server.',
    }),
  },
  { additionalProperties: false, title: 'ReplicaCap' },
);

const checkCap = validator(replicaCapSchema);

/** Most requests in flight. @throws ApiError `validation_error` */
export function parseReplicaCap(text: string): number {
  return parseBody<{ max_in_flight: number }>(text, checkCap).value.max_in_flight;
}

/** A replica with its drain and its cap. `report` is absent if no process lists the replica any more. */
export interface ReplicaView {
  id: string;
  report?: ReplicaReport;
  drain?: ReplicaDrain | undefined;
  cap?: ReplicaCap | undefined;
}

export function presentReplicas(replicas: readonly ReplicaView[]) {
  return { object: 'list' as const, data: replicas.map(presentReplica), has_more: false };
}

function roundedSlowdown(slowdown: number | null): number | null {
  return slowdown === null ? null : Math.round(slowdown * 100) / 100;
}

export function presentReplica({ id, report, drain, cap }: ReplicaView) {
  const named = report ?? drain ?? cap;
  // The report of another process may be older than the cap.
  const slots = report ? Math.min(report.slots, cap?.maxInFlight ?? Infinity) : null;
  return {
    id,
    object: 'replica' as const,
    model: named?.model ?? '',
    server: report?.name ?? drain?.server ?? cap?.server ?? '',
    // The report of another process may be older than the drain.
    health: report ? (drain ? 'draining' : report.health) : null,
    slots,
    // Processes of versions before do not report it.
    configured: report?.configured ?? null,
    found: report?.discovered ?? null,
    in_use: report && slots !== null ? Math.min(report.inFlight, slots) : 0,
    in_flight: report?.inFlight ?? 0,
    // Processes of versions before do not report it.
    slowdown: roundedSlowdown(report?.slowdown ?? null),
    waiting: presentWaiting(report?.waiting ? toWaiting(report.waiting) : null),
    drained_at: drain ? isoSeconds(drain.since) : null,
    drained_by: drain?.keyId ?? null,
    cap: cap?.maxInFlight ?? null,
    capped_at: cap ? isoSeconds(cap.since) : null,
    capped_by: cap?.keyId ?? null,
  };
}

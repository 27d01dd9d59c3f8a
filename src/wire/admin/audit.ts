import { omitNullish } from '../../base/fields.ts';
import { auditActions, type AuditHead, auditId, type AuditQuery, auditSequence } from '../../core/audit.ts';
import { choiceParam, pageParams, type Query, textParam } from '../shared/query-params.ts';

export const auditListLimits = { max: 1_000, default: 100 } as const;

/** @throws ApiError `validation_error` */
export function parseAuditQuery(query: Query): AuditQuery {
  const { limit, after } = pageParams(query, auditListLimits, (id) => auditSequence(id) !== undefined);
  return {
    limit,
    order: choiceParam(query, 'order', ['asc', 'desc']) ?? 'desc',
    ...omitNullish({
      actor: textParam(query, 'actor'),
      action: choiceParam(query, 'action', auditActions),
      target: textParam(query, 'target'),
      after: after === undefined ? undefined : auditSequence(after),
    }),
  };
}

/** Last entry of the log; null for an empty one. */
export function presentHead({ sequence, hash }: AuditHead) {
  return sequence === 0 ? null : { id: auditId(sequence), hash };
}

import { omitNullish } from '../../base/fields.ts';
import { actionKinds, type ActionOptions, type BatchAction } from '../../core/batch-action.ts';
import { batchStatuses, type DateForm } from '../../core/batch.ts';
import { invalid } from '../../core/errors.ts';
import { priorities } from '../../core/limits.ts';
import { waitingReasons } from '../../core/waiting.ts';
import * as t from '../schema/schema.ts';
import { parseBody, validator } from '../schema/validate.ts';
import { instantFormats, nullable } from '../shared/instant.ts';
import { parseBatchFilters } from './list.ts';

export const maxActionIds = 1_000;

const filterFields = {
  'q?': t.stringOrNull({ description: 'Words in the id, input file name or metadata values.' }),
  'status?': t.oneOfOrNull(batchStatuses),
  'model?': t.stringOrNull(),
  'waiting?': t.oneOfOrNull(['any', ...waitingReasons]),
  'at_risk?': t.booleanOrNull(),
  'created_after?': { type: ['string', 'integer', 'null'] },
  'created_before?': { type: ['string', 'integer', 'null'] },
};

const fieldsWith = (filter: t.Fields, kinds: readonly string[], more: t.Fields = {}) => ({
  action: t.oneOf(kinds),
  'ids?': t.orNull(t.array(t.string(), { minItems: 1, maxItems: maxActionIds })),
  'filter?': t.orNull(
    t.object(filter, {
      additionalProperties: false,
      description: 'Filters of the list of batches. An empty object matches all batches.',
    }),
  ),
  'codes?': t.orNull(
    t.array(t.string({ minLength: 1, maxLength: 64 }), {
      minItems: 1,
      maxItems: 100,
      description: 'With retry: only requests that failed with one of these error codes.',
    }),
  ),
  ...more,
  'dry_run?': t.booleanOrNull({ description: 'Only counts the batches.' }),
});

const note = {
  additionalProperties: false,
  title: 'BatchAction',
  description: 'Exactly one of ids and filter is required.',
};

const ownKinds = actionKinds.filter((kind) => kind !== 'priority');

/** Bodies of `POST /v1/batches/actions` and `POST /v1/admin/batches/actions`. */
export const actionSchema = t.object(fieldsWith(filterFields, ownKinds), note);
export const operatorActionSchema = t.object(
  fieldsWith(
    { ...filterFields, 'org?': t.stringOrNull({ description: 'Id or name of an org.' }) },
    actionKinds,
    {
      'priority?': t.orNull(
        t.integer({
          minimum: priorities.min,
          maximum: priorities.max,
          description: 'With priority: the new priority.',
        }),
      ),
    },
  ),
  note,
);

interface Body {
  action: ActionOptions['kind'];
  ids?: string[] | null;
  filter?: Record<string, string | number | boolean | null> | null;
  codes?: string[] | null;
  priority?: number | null;
  dry_run?: boolean | null;
}

/** Filters of a list, with the name or id of an org from an operator. */
type Filter = ReturnType<typeof parseBatchFilters> & { org?: string };

export interface ActionRequest {
  options: ActionOptions;
  /** Either this or `filter`. */
  ids?: readonly string[];
  filter?: Filter;
  dryRun: boolean;
}

const check = validator(actionSchema);
const checkOperator = validator(operatorActionSchema);

/** @throws ApiError `validation_error` */
export function parseAction(text: string, isOperator: boolean): ActionRequest {
  const { value } = parseBody<Body>(text, isOperator ? checkOperator : check);
  const { action: kind, ids, filter, codes, priority } = value;
  if ((ids ?? null) === null && (filter ?? null) === null)
    throw invalid('ids', 'one of ids and filter is required');
  if (ids && filter) throw invalid('filter', 'cannot be combined with ids');
  if (codes && kind !== 'retry') throw invalid('codes', 'is only used with the action retry');
  if ((priority ?? null) !== null && kind !== 'priority')
    throw invalid('priority', 'is only used with the action priority');
  if (kind === 'priority' && (priority ?? null) === null)
    throw invalid('priority', 'is required with the action priority');
  const options = { kind, ...omitNullish({ codes, priority }) };
  return {
    options,
    ...(ids && { ids: [...new Set(ids)] }),
    ...(filter && { filter: readFilter(filter) }),
    dryRun: value.dry_run === true,
  };
}

/**
 * Reads a filter as the query of a list, whose values are strings. A null is as if absent, and a filter of nulls alone is refused:
 * a script whose variables are unset must not cancel all batches.
 */
function readFilter(fields: NonNullable<Body['filter']>): Filter {
  const { org, ...given } = omitNullish(fields);
  const query = Object.fromEntries(Object.entries(given).map(([name, value]) => [name, String(value)]));
  if (Object.keys(fields).length > 0 && org === undefined && Object.keys(query).length === 0)
    throw invalid('filter', 'has only nulls: name a filter, or send {} for all batches');
  return { ...parseBatchFilters(query), ...(org !== undefined && { org: String(org) }) };
}

/** Counts of an action before it begins. */
export interface ActionPreview {
  matched: number;
  changes: number;
  /** Requests of the batches that would change: those left, or for a retry those that failed. */
  requests: number;
  skipped: ReadonlyMap<string, number>;
}

export function presentPreview({ kind }: ActionOptions, preview: ActionPreview) {
  const { matched, changes, requests, skipped } = preview;
  return {
    object: 'batch_action.preview',
    action: kind,
    matched,
    changes,
    requests,
    skipped: [...skipped].map(([reason, count]) => ({ reason, count })),
  };
}

export function presentAction(action: BatchAction, dates: DateForm) {
  const { options, failures } = action;
  const instant = instantFormats[dates];
  return {
    id: action.id,
    object: 'batch_action',
    action: options.kind,
    codes: options.codes ?? null,
    priority: options.priority ?? null,
    status: action.status,
    total: action.total,
    done: action.done,
    failed: action.failed,
    skipped: action.skipped,
    failures: failures.map(({ batchId, code, message }) => ({ batch_id: batchId, code, message })),
    created_at: instant(action.createdAt),
    ended_at: nullable(instant)(action.endedAt),
  };
}

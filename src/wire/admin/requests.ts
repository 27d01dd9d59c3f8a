import type { Query } from '../shared/query-params.ts';
import { invalid } from '../../core/errors.ts';
import { exactCost, formatDollars, roundCost } from '../../core/price.ts';
import type { RecentRequest } from '../../core/recent-request.ts';
import { omitNullish } from '../../base/fields.ts';
import { pageParams, textParam } from '../shared/query-params.ts';

export const requestListLimits = { max: 1_000, default: 100 } as const;

/** Reads the query of `GET /v1/admin/requests`. @throws ApiError `validation_error` */
export function parseRequestsQuery(query: Query) {
  return {
    ...pageParams(query, requestListLimits),
    ...omitNullish({
      org: textParam(query, 'org'),
      model: textParam(query, 'model'),
      keyId: textParam(query, 'key_id'),
      statuses: statusParam(query),
    }),
  };
}

/** Statuses of a filter: `429`, a class such as `5xx`, or `error`. */
export const statusPattern = '^([1-5][0-9][0-9]|[1-5]xx|error)$';

/** First and last status that the filter lets pass. */
function statusParam(query: Query): { from: number; to: number } | undefined {
  const text = textParam(query, 'status');
  if (text === undefined) return undefined;
  if (text === 'error') return { from: 400, to: 599 };
  if (!new RegExp(statusPattern).test(text))
    throw invalid(
      'status',
      `expected an HTTP status such as 429, a class such as 5xx, or error; got "${text}"`,
    );
  return { from: Number(text.replace('xx', '00')), to: Number(text.replace('xx', '99')) };
}

/** @param process id of the process that answered it */
export function presentRequest(request: RecentRequest, process: string, org: string | null) {
  const { usage, prices } = request;
  return {
    id: request.id,
    object: 'request' as const,
    process,
    started_at: new Date(request.startedAt).toISOString(),
    org_id: request.orgId,
    org,
    key_id: request.keyId,
    key_name: request.keyName,
    endpoint: request.endpoint,
    model: request.model,
    server: request.server,
    status: request.status,
    code: request.code,
    ms: request.ms,
    queued_ms: roundedOrNull(request.queuedMs),
    first_ms: roundedOrNull(request.firstMs),
    input_tokens: usage && usage.inputTokens,
    cached_tokens: usage && usage.cachedTokens,
    output_tokens: usage && usage.outputTokens,
    amount: usage && prices && formatDollars(BigInt(roundCost(exactCost(usage, prices)))),
  };
}

function roundedOrNull(ms: number | null): number | null {
  return ms === null ? null : Math.round(ms * 10) / 10;
}

import type { Query } from '../shared/query-params.ts';
import { invalid } from '../../core/errors.ts';
import type { RecentRequest } from '../../core/recent-request.ts';
import { omitNullish } from '../../base/fields.ts';
import { pageParams, textParam } from '../shared/query-params.ts';

export const requestListLimits = { max: 1_000, default: 100 } as const;

/** Reads the query of `GET /v1/admin/requests`. @throws ApiError `validation_error` */
export function parseRequestsQuery(query: Query) {
  const status = textParam(query, 'status');
  if (status !== undefined && !/^[1-5]\d\d$/.test(status))
    throw invalid('status', `expected an HTTP status such as 429, got "${status}"`);
  return {
    ...pageParams(query, requestListLimits),
    ...omitNullish({
      org: textParam(query, 'org'),
      model: textParam(query, 'model'),
      status: status && Number(status),
    }),
  };
}

/** @param process id of the process that answered it */
export function presentRequest(request: RecentRequest, process: string, org: string | null) {
  const { usage } = request;
  return {
    id: request.id,
    object: 'request' as const,
    process,
    started_at: new Date(request.startedAt).toISOString(),
    org_id: request.orgId,
    org,
    key_id: request.keyId,
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
  };
}

function roundedOrNull(ms: number | null): number | null {
  return ms === null ? null : Math.round(ms * 10) / 10;
}

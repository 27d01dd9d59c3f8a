import type { RequestsSearch } from './search.ts';

/** Fields of a request that filters and figures read. */
export interface FilteredRequest {
  id: string;
  org_id: string;
  org: string | null;
  key_id: string;
  key_name: string;
  endpoint: string;
  model: string | null;
  server: string | null;
  status: number;
  code: string | null;
  ms: number;
  first_ms: number | null;
  output_tokens: number | null;
  amount: string | null;
}

export function isFailed({ status }: Pick<FilteredRequest, 'status'>): boolean {
  return status >= 400;
}

/** Requests that pass all filters. */
export function filterRequests<R extends FilteredRequest>(
  requests: readonly R[],
  { q, result, model, key, org }: RequestsSearch,
): R[] {
  const text = q?.trim().toLowerCase() ?? '';
  return requests.filter(
    (request) =>
      (model === undefined || request.model === model) &&
      (key === undefined || request.key_id === key) &&
      (org === undefined || request.org_id === org) &&
      hasResult(request, result) &&
      (text === '' || textsOf(request).some((each) => each.toLowerCase().includes(text))),
  );
}

function hasResult(request: FilteredRequest, result: string | undefined): boolean {
  if (result === undefined) return true;
  if (result === 'failed') return isFailed(request);
  if (result === 'answered') return !isFailed(request);
  return request.code === result;
}

function textsOf({ id, model, endpoint, server, key_id, key_name, org, code }: FilteredRequest): string[] {
  return [id, model, endpoint, server, key_id, key_name, org, code].filter((each) => each !== null);
}

/** Figures of some requests. Times are milliseconds, and null without a request that has one. */
export interface RequestFigures {
  failed: number;
  median: number | null;
  p95: number | null;
  firstMedian: number | null;
  outputTokens: number;
  /** USD. */
  amount: number;
}

export function figuresOf(requests: readonly FilteredRequest[]): RequestFigures {
  const answered = requests.filter((request) => !isFailed(request));
  const times = answered.map(({ ms }) => ms);
  const sum = (of: (request: FilteredRequest) => number) => requests.reduce((all, each) => all + of(each), 0);
  return {
    failed: requests.length - answered.length,
    median: quantile(times, 0.5),
    p95: quantile(times, 0.95),
    firstMedian: quantile(
      answered.flatMap(({ first_ms: ms }) => ms ?? []),
      0.5,
    ),
    outputTokens: sum(({ output_tokens: tokens }) => tokens ?? 0),
    amount: sum(({ amount }) => Number(amount ?? 0)),
  };
}

/** Smallest value that at least `share` of the values do not exceed. */
function quantile(values: readonly number[], share: number): number | null {
  const sorted = values.toSorted((a, b) => a - b);
  return sorted[Math.max(0, Math.ceil(sorted.length * share) - 1)] ?? null;
}

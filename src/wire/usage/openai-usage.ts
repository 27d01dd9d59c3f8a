import { dayMs, hourMs, unixSeconds, utcDay, utcHour } from '../../base/clock.ts';
import { words } from '../../base/words.ts';
import { invalid } from '../../core/errors.ts';
import { formatDollars } from '../../core/price.ts';
import type {
  UsageFilter,
  UsageGroup,
  UsageQuery,
  UsageRow,
  UsageRows,
  UsageSum,
} from '../../core/usage-report.ts';
import { addUsage } from '../../core/usage.ts';
import { quoted } from '../json/parse.ts';
import { choiceParam, type Query, textParam } from '../shared/query-params.ts';
import { requireHourly } from './report.ts';

/** OpenAI's reports: an org is a project. */
export type Report = 'completions' | 'embeddings' | 'moderations' | 'costs';

const widths = { '1d': dayMs, '1h': hourMs } as const;
type Width = keyof typeof widths;
/** Buckets of a page. */
const limits = {
  '1d': { default: 7, max: 31 },
  '1h': { default: 24, max: 168 },
  costs: { default: 7, max: 180 },
} as const;

/** Groups of each report, as groups of the ledger; null for those that Offpeak does not have. */
const groups: Record<Report, Readonly<Record<string, UsageGroup | null>>> = {
  completions: {
    project_id: 'org',
    user_id: null,
    api_key_id: 'key',
    model: 'model',
    batch: 'tier',
    service_tier: 'tier',
  },
  embeddings: { project_id: 'org', user_id: null, api_key_id: 'key', model: 'model' },
  moderations: { project_id: 'org', user_id: null, api_key_id: 'key', model: 'model' },
  // OpenAI's costs have no tier.
  costs: { project_id: 'org', line_item: 'model', api_key_id: 'key', service_tier: 'tier' },
};
/** Lists, whose names SDKs send with brackets. */
const lists = words('project_ids user_ids api_key_ids models group_by');
/** Endpoints with a report of their own. All others are in `completions`. */
const ownEndpoints: Partial<Record<Report, string>> = {
  embeddings: '/v1/embeddings',
  moderations: '/v1/moderations',
};

/** A page of buckets. Instants are epoch milliseconds. */
export interface BucketQuery {
  report: Report;
  width: Width;
  /** Names of the groups, as in the request. */
  groupBy: readonly string[];
  /** Starts of the buckets, and the end of the last one. */
  start: number;
  end: number;
  /** Start of the next page; null for the last one. */
  next: number | null;
  usage: UsageQuery;
}

const inputParams = words(
  'start_time end_time bucket_width project_ids user_ids api_key_ids models group_by limit page',
);

export const bucketParams: Record<Report, readonly string[]> = {
  completions: words(
    'start_time end_time bucket_width project_ids user_ids api_key_ids models batch group_by limit page',
  ),
  embeddings: inputParams,
  moderations: inputParams,
  costs: words('start_time end_time bucket_width project_ids api_key_ids group_by limit page'),
};

/** Joins `group_by[]` and `group_by`, repeated or with commas, to one list under the plain name. */
export function plainLists(query: Query): Query {
  const plain: Query = {};
  for (const [name, value] of Object.entries(query)) {
    const base = name.replace(/\[\d*\]$/, '');
    if ((lists as readonly string[]).includes(base)) plain[base] = [plain[base] ?? [], value].flat();
    else plain[name] = value;
  }
  return plain;
}

/** Reads the query of a report, with plain lists. @throws ApiError `validation_error` */
export function parseBucketQuery(report: Report, query: Query, now: number): BucketQuery {
  const width = choiceParam(query, 'bucket_width', report === 'costs' ? ['1d'] : ['1d', '1h']) ?? '1d';
  const widthMs = widths[width];
  const floor = (ms: number) => Math.floor(ms / widthMs) * widthMs;
  const from = timeParam(query, 'start_time');
  if (from === undefined) throw invalid('start_time', 'is required: Unix seconds of the first bucket');
  const until = timeParam(query, 'end_time') ?? now;
  if (until <= from) throw invalid('end_time', 'must be after start_time');
  const page = pageParam(query);
  const start = floor(page ?? from);
  if (width === '1h') requireHourly('start_time', start, now);
  const end = Math.ceil(until / widthMs) * widthMs;
  const max = limits[report === 'costs' ? 'costs' : width];
  const pageEnd = Math.min(end, start + limitParam(query, max) * widthMs);
  const groupBy = listParam(query, 'group_by') ?? [];
  const known = groups[report];
  for (const name of groupBy)
    if (!Object.hasOwn(known, name))
      throw invalid('group_by', `expected any of ${Object.keys(known).join(', ')}, got ${quoted(name)}`);
  const time = width === '1d' ? utcDay : utcHour;
  return {
    report,
    width,
    groupBy,
    start,
    end: Math.max(start, pageEnd),
    next: pageEnd < end ? pageEnd : null,
    usage: {
      start: time(start),
      before: time(Math.max(start, pageEnd)),
      groups: [width === '1d' ? 'day' : 'hour', ...new Set(groupBy.flatMap((name) => known[name] ?? []))],
      filter: readFilter(report, query),
      limit: Number.MAX_SAFE_INTEGER,
    },
  };
}

function readFilter(report: Report, query: Query): UsageFilter {
  if (query['user_ids'] !== undefined)
    throw invalid('user_ids', 'usage is recorded by key, not by user; use api_key_ids');
  const orgs = listParam(query, 'project_ids');
  const keys = listParam(query, 'api_key_ids');
  const models = listParam(query, 'models');
  const batch = choiceParam(query, 'batch', ['true', 'false']);
  const own = ownEndpoints[report];
  return {
    ...(orgs && { orgs }),
    ...(keys && { keys }),
    ...(models && { models }),
    ...(batch !== undefined && { batch: batch === 'true' }),
    ...(own !== undefined && { endpoints: [own] }),
    ...(report === 'completions' && { exceptEndpoints: Object.values(ownEndpoints) }),
  };
}

function timeParam(query: Query, name: string): number | undefined {
  const text = textParam(query, name);
  if (text === undefined) return undefined;
  if (/^\d{1,11}$/.test(text)) return Number(text) * 1_000;
  throw invalid(name, `expected Unix seconds, got ${quoted(text)}`);
}

function pageParam(query: Query): number | undefined {
  const text = textParam(query, 'page');
  if (text === undefined) return undefined;
  const [, at] = /^page_(\d{1,11})$/.exec(text) ?? [];
  if (at === undefined) throw invalid('page', `${quoted(text)} is not a next_page of this report`);
  return Number(at) * 1_000;
}

function limitParam(query: Query, { max, default: usual }: { max: number; default: number }): number {
  const text = textParam(query, 'limit');
  if (text === undefined) return usual;
  const value = /^\d{1,4}$/.test(text) ? Number(text) : 0;
  if (value >= 1 && value <= max) return value;
  throw invalid('limit', `expected a whole number from 1 to ${max}, got ${quoted(text)}`);
}

function listParam(query: Query, name: string): string[] | undefined {
  const given = query[name];
  if (given === undefined) return undefined;
  const values = [given].flat().flatMap((value) => (typeof value === 'string' ? value.split(',') : []));
  if (values.some((value) => value.includes('\0'))) throw invalid(name, 'has a NUL character');
  if (values.length > 100) throw invalid(name, 'expected at most 100 values');
  return values;
}

/** Rows that are summed, or results that are written, in one step: some tenths of a millisecond. */
const stepItems = 200;

interface Result {
  values: GroupValues;
  sum: UsageSum;
}

/** JSON of a page of buckets in OpenAI's form, made in steps. Buckets without usage have no results. */
export function* bucketPage(asked: BucketQuery, rows: UsageRows): Generator<undefined, string> {
  const { width, start, end, next } = asked;
  const times = yield* sumResults(asked, rows);
  const buckets: string[] = [];
  for (let at = start; at < end; at += widths[width]) {
    const ofBucket = times.get(width === '1d' ? utcDay(at) : utcHour(at))?.values() ?? [];
    const results: string[] = [];
    for (const { values, sum } of ofBucket) {
      results.push(JSON.stringify(presentResult(asked.report, values, sum)));
      if (results.length % stepItems === 0) yield;
    }
    const [from, to] = [unixSeconds(at), unixSeconds(at + widths[width])];
    buckets.push(
      `{"object":"bucket","start_time":${from},"end_time":${to},"results":[${results.join(',')}]}`,
    );
  }
  const page = { has_more: next !== null, next_page: next === null ? null : `page_${unixSeconds(next)}` };
  return `{"object":"page","data":[${buckets.join(',')}],${JSON.stringify(page).slice(1)}`;
}

/** Results by the time of their bucket and by their values. */
function* sumResults(
  asked: BucketQuery,
  rows: UsageRows,
): Generator<undefined, Map<string, Map<string, Result>>> {
  const times = new Map<string, Map<string, Result>>();
  for (let from = 0; from < rows.length; from += stepItems) {
    if (from > 0) yield;
    for (const row of rows.slice(from, from + stepItems)) {
      const time = row.groupValues[0]!;
      const results = times.get(time) ?? new Map<string, Result>();
      times.set(time, results);
      const values = groupValues(asked, asked.usage, row);
      const key = JSON.stringify(values);
      const known = results.get(key);
      results.set(key, { values, sum: known ? add(known.sum, row) : row });
    }
  }
  return times;
}

type GroupValues = Record<string, string | boolean | null>;

/** Values of all groups of the report; null for those that were not asked for. */
function groupValues({ report, groupBy }: BucketQuery, usage: UsageQuery, row: UsageRow): GroupValues {
  const values: GroupValues = {};
  for (const [name, group] of Object.entries(groups[report])) {
    const value = group && groupBy.includes(name) ? row.groupValues[usage.groups.indexOf(group)]! : null;
    values[name] = value !== null && name === 'batch' ? value === 'batch' : value || null;
  }
  return values;
}

function presentResult(report: Report, values: GroupValues, sum: UsageSum) {
  const object = report === 'costs' ? 'organization.costs.result' : `organization.usage.${report}.result`;
  if (report === 'costs')
    return { object, amount: { value: Number(formatDollars(sum.amount)), currency: 'usd' }, ...values };
  const input = { input_tokens: sum.inputTokens, num_model_requests: sum.requests };
  if (ownEndpoints[report] !== undefined) return { object, ...input, ...values };
  return {
    object,
    ...input,
    output_tokens: sum.outputTokens,
    input_cached_tokens: sum.cachedTokens,
    input_audio_tokens: 0,
    output_audio_tokens: 0,
    ...values,
  };
}

function add(a: UsageSum, b: UsageSum): UsageSum {
  return { ...addUsage(a, b), requests: a.requests + b.requests, amount: a.amount + b.amount };
}

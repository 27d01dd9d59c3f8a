import { omitNullish } from '../../base/fields.ts';
import type { DateForm } from '../../core/batch.ts';
import { type ErrorCode, errorCatalog, invalid } from '../../core/errors.ts';
import type { FailedAttempt, LineOutcome, LineState } from '../../core/line.ts';
import { lineStates } from '../../core/line.ts';
import { formatDollars } from '../../core/price.ts';
import { quoted } from '../json/parse.ts';
import { instantFormats } from '../shared/instant.ts';
import { choiceParam, pageParams, type Query, textParam } from '../shared/query-params.ts';

export const lineListLimits = { max: 500, default: 100 } as const;
export const maxSample = 200;
/** Characters of a text that is searched for. */
export const maxSearch = 200;

/** Filters and page of a list of lines. */
export interface LineQuery {
  limit: number;
  /** Number of the line after which the page starts, from 1; 0 for the first page. */
  after: number;
  state?: LineState;
  /** Error code. */
  code?: string;
  customId?: string;
  /** Text in the custom_id, the request or the answer, in any case. */
  q?: string;
  /** Number of random lines instead of a page. */
  sample?: number;
  seed?: number;
}

/** Reads the query of `GET /v1/batches/{id}/lines`. @throws ApiError `validation_error` */
export function parseLineQuery(query: Query): LineQuery {
  const { limit } = pageParams({ ...query, after: undefined }, lineListLimits);
  const sample = numberParam(query, 'sample', maxSample);
  const given = omitNullish({
    state: choiceParam(query, 'state', lineStates),
    code: textParam(query, 'code'),
    customId: textParam(query, 'custom_id'),
    q: textParam(query, 'q'),
    sample,
    seed: numberParam(query, 'seed', 0xff_ff_ff_ff),
  });
  if (given.q !== undefined && given.q.length > maxSearch)
    throw invalid('q', `expected at most ${maxSearch} characters, got ${given.q.length}`);
  const after = numberParam(query, 'after', 999_999_999);
  if (sample === 0) throw invalid('sample', `expected a whole number from 1 to ${maxSample}, got "0"`);
  for (const [name, value] of Object.entries({ after, q: given.q, custom_id: given.customId }))
    if (sample !== undefined && value !== undefined) throw invalid(name, 'cannot be combined with sample');
  if (given.seed !== undefined && sample === undefined) throw invalid('seed', 'is only used with sample');
  return { limit, after: after ?? 0, ...given };
}

function numberParam(query: Query, name: string, max: number): number | undefined {
  const text = textParam(query, name);
  if (text === undefined) return undefined;
  if (!/^\d{1,10}$/.test(text) || Number(text) > max)
    throw invalid(name, `expected a whole number up to ${max}, got ${quoted(text)}`);
  return Number(text);
}

/** Line of a batch as a reader sees it. */
export interface LineView {
  /** 0-based. */
  line: number;
  /** Null if the input and the result are gone, or lost. */
  customId: string | null;
  state: LineState;
  /** Null without a result. */
  outcome: (LineOutcome & { message: string }) | null;
  /** Model of a line without a result. */
  model: string | null;
  /** Absent for operators. */
  preview?: { input: string; output: string };
}

/** Line with its texts, and the line of the batch that it retries. */
export interface LineDetail extends LineView {
  /** JSON text; null if the input is gone. */
  input: string | null;
  /** JSON text; null without an answer. */
  output: string | null;
  original: (LineDetail & { batchId: string }) | null;
}

export interface LinePage {
  lines: LineView[];
  /** Value of `after` for the next page; null after the last one. */
  nextAfter: number | null;
  /** Seed of a sample, by which it can be repeated. */
  seed?: number;
}

interface LineForm {
  dates: DateForm;
  /** Id of a replica, by the model and its name. */
  replicaId: (model: string, server: string) => string;
  /** True to name servers, and to omit prompts and answers. */
  isOperator: boolean;
}

export function presentLine({ line, customId, state, outcome, model, preview }: LineView, form: LineForm) {
  const instant = instantFormats[form.dates];
  const run = outcome?.run ?? null;
  const nano = run === null ? null : BigInt(run.nano);
  const replica = (server: string | null) => ({
    replica_id: server === null ? null : form.replicaId(outcome?.model ?? '', server),
    ...(form.isOperator && { server }),
  });
  const failedAttempts = (run?.failures ?? []).map(({ at, ms, code, server }: FailedAttempt) => ({
    at: instant(at),
    duration_ms: ms,
    code,
    ...replica(server),
  }));
  return {
    object: 'batch.line',
    line: line + 1,
    custom_id: customId,
    state,
    status_code: outcome ? statusOf(outcome.code) : null,
    error: outcome?.code
      ? { code: outcome.code, ...(!form.isOperator && { message: outcome.message }) }
      : null,
    model: outcome?.model ?? model,
    usage: outcome && {
      input_tokens: outcome.inputTokens,
      input_tokens_details: { cached_tokens: outcome.cachedTokens },
      output_tokens: outcome.outputTokens,
      total_tokens: outcome.inputTokens + outcome.outputTokens,
    },
    cost: nano === null ? null : { currency: 'USD', amount: formatDollars(nano) },
    finished_at: run && instant(run.at),
    duration_ms: run && run.ms,
    ...replica(run?.server ?? null),
    attempts: outcome?.attempts ?? null,
    failed_attempts: failedAttempts,
    ...(preview && !form.isOperator && { preview }),
  };
}

function statusOf(code: string | null): number {
  if (code === null) return 200;
  return Object.hasOwn(errorCatalog, code) ? errorCatalog[code as ErrorCode].status : 500;
}

export function presentLinePage({ lines, nextAfter, seed }: LinePage, form: LineForm) {
  return {
    object: 'list',
    data: lines.map((line) => presentLine(line, form)),
    has_more: nextAfter !== null,
    next_after: nextAfter,
    ...(seed !== undefined && { seed }),
  };
}

/** Line with its texts as JSON text. Bodies are inserted unparsed, so that their numbers keep every digit. */
export function lineDetailJson(detail: LineDetail, form: LineForm): string {
  const text = withBodies(detail, form);
  if (form.isOperator) return text;
  const { original } = detail;
  const from =
    original && `{"batch_id":${JSON.stringify(original.batchId)},${withBodies(original, form).slice(1)}`;
  return `${text.slice(0, -1)},"original":${from}}`;
}

function withBodies(detail: LineDetail, form: LineForm): string {
  const { preview: _, ...line } = presentLine(detail, form);
  if (form.isOperator) return JSON.stringify(line);
  return `${JSON.stringify(line).slice(0, -1)},"input":${detail.input},"output":${detail.output}}`;
}

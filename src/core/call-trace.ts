import type { Caller } from './org.ts';
import type { Prices } from './price.ts';
import type { Usage } from './usage.ts';

/** Trace of a model call. After a retry or a fallback it describes the last attempt. */
export interface CallTrace {
  /** Ids of its spans, where calls are traced. */
  span?: SpanIds;
  /** Monotonic milliseconds at which the first attempt began. */
  begunAt?: number;
  isStream?: boolean;
  /** Number of attempts. */
  calls?: number;
  /** Name of the last replica. */
  server?: string;
  /** Number of replicas tried. */
  serversAsked?: number;
  /** Milliseconds of waiting for a slot. */
  queuedMs?: number;
  /** Milliseconds from the slot until the first output of a stream, or the whole answer. */
  firstOutputMs?: number;
  /** Id of the server's answer. */
  answerId?: string;
  model?: string;
  /** Usage as reported by the server; absent for the embedded engine and answers that did not complete. */
  reported?: ReportedUsage;
  /** Usage that is charged. */
  billed?: Usage;
  /** Prices at which a single request is charged. */
  prices?: Prices;
}

/** Ids of the spans of a call, in hex (W3C Trace Context). */
export interface SpanIds {
  traceId: string;
  /** Span of the model call. */
  callId: string;
  /** Span of the HTTP request around it, and its parent at the client. */
  requestId?: string;
  parentId?: string;
  isSampled: boolean;
}

/** Header of W3C Trace Context that makes spans of the upstream children of the model call. */
export function traceparentOf(trace: CallTrace | undefined): [string, string] | undefined {
  const ids = trace?.span;
  return ids && ['traceparent', `00-${ids.traceId}-${ids.callId}-${ids.isSampled ? '01' : '00'}`];
}

/** Token counts as reported by a server, unverified; the sum if a request was split. */
export interface ReportedUsage extends Partial<Usage> {
  totalTokens?: number;
}

/** Finished HTTP request. */
export interface AnsweredCall {
  requestId: string;
  /** Epoch milliseconds. */
  startedAt: number;
  /** Absent if the request was not authenticated. */
  caller?: Pick<Caller, 'orgId' | 'keyId' | 'keyName'> | undefined;
  code?: string | undefined;
  method: string;
  /** Route pattern, such as `/v1/batches/:id`; `unknown` if no route matches. */
  route: string;
  /** Route pattern at `/v1`, whatever the surface of the request. */
  endpoint: string;
  /** HTTP status; 499 if the client left before the end of the answer. */
  status: number;
  ms: number;
  trace: CallTrace;
}

/** Finished attempt of a batch line. */
export interface AnsweredLine {
  batchId: string;
  orgId: string;
  endpoint: string;
  line: number;
  /** Attempts so far, with this one. */
  attempt: number;
  /** Code of the error; undefined for an answer. */
  code: string | undefined;
  trace: CallTrace;
}

/** Batch in its final state. Instants are epoch milliseconds. */
export interface EndedBatch {
  id: string;
  orgId: string;
  endpoint: string;
  status: string;
  total: number;
  createdAt: number;
  endedAt: number;
}

/** Records calls and batches as spans. */
export interface CallTracer {
  /** Ids for the spans of a request. @param traceparent header of the client */
  beginRequest(traceparent: string | undefined): SpanIds;
  beginLine(): SpanIds;
  endRequest(call: AnsweredCall): void;
  endLine(line: AnsweredLine): void;
  endBatch(batch: EndedBatch): void;
}

/** Log fields of a call; `reported` only if it differs from the charged usage. */
export function toCallFields(trace: CallTrace): object {
  const { calls = 1, queuedMs = 0, firstOutputMs, reported, billed } = trace;
  return {
    model: trace.model,
    server: trace.server,
    calls: calls > 1 ? calls : undefined,
    servers_asked: trace.serversAsked,
    answer_id: trace.answerId,
    queued_ms: roundToTenths(queuedMs),
    first_ms: firstOutputMs && roundToTenths(firstOutputMs),
    ...loggedUsage(billed),
    reported: reported && !isBilled(reported, billed) ? loggedUsage(reported) : undefined,
  };
}

function loggedUsage({ inputTokens, cachedTokens, outputTokens, totalTokens }: ReportedUsage = {}) {
  return {
    input_tokens: inputTokens,
    cached_tokens: cachedTokens,
    output_tokens: outputTokens,
    total_tokens: totalTokens,
  };
}

function isBilled(
  { inputTokens, cachedTokens = 0, outputTokens = 0 }: ReportedUsage,
  billed: Usage | undefined,
): boolean {
  return (
    billed?.inputTokens === inputTokens &&
    billed?.cachedTokens === cachedTokens &&
    billed?.outputTokens === outputTokens
  );
}

/** Milliseconds for logs. */
export const roundToTenths = (ms: number) => Math.round(ms * 10) / 10;

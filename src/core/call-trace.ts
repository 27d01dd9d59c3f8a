import type { Caller } from './org.ts';
import type { Usage } from './usage.ts';

/** Trace of a model call. After a retry or a fallback it describes the last attempt. */
export interface CallTrace {
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
  caller?: Pick<Caller, 'orgId' | 'keyId'> | undefined;
  /** Code of its error. */
  code?: string | undefined;
  method: string;
  /** Route pattern, such as `/v1/batches/:id`; `unknown` if no route matches. */
  route: string;
  /** HTTP status; 499 if the client left before the end of the answer. */
  status: number;
  ms: number;
  trace: CallTrace;
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

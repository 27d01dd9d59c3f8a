import type { Usage } from './usage.ts';

/** What is known of a call. A call that is made again, for a promise that was not kept or at a fallback, is told by its last. */
export interface CallTrace {
  /** How many times it was made. */
  calls?: number;
  /** The server that was asked last, by the name of its replica. */
  server?: string;
  /** How many servers were asked. */
  serversAsked?: number;
  /** Milliseconds that it waited for a place. */
  queuedMs?: number;
  /** Milliseconds from then until something of a streamed answer, or all of one that comes whole, was there. */
  firstOutputMs?: number;
  /** The id that the server gave its answer. */
  answerId?: string;
  /** The model that is asked. */
  model?: string;
  /** What the server says that it took; absent where none said so, because nothing came to its end or the engine is our own. */
  reported?: ReportedUsage;
  /** What is paid for. */
  billed?: Usage;
}

/** Tokens as a server told them, right or wrong; what it did not tell is missing. Of what was asked apart they are added up. */
export interface ReportedUsage extends Partial<Usage> {
  totalTokens?: number;
}

/** An HTTP request that is over. */
export interface AnsweredCall {
  method: string;
  /** The path of its route, as `/v1/batches/:id`; `unknown` where there is none. */
  route: string;
  /** 499 where its client left before the end of the answer. */
  status: number;
  ms: number;
  trace: CallTrace;
}

/** What a log says of a call. What was reported is told where something else is paid. */
export function toCallFields(known: CallTrace): object {
  const {
    calls = 1,
    server,
    serversAsked,
    queuedMs = 0,
    firstOutputMs,
    answerId,
    model,
    reported,
    billed,
  } = known;
  return {
    model,
    server,
    calls: calls > 1 ? calls : undefined,
    servers_asked: serversAsked,
    answer_id: answerId,
    queued_ms: roundToTenths(queuedMs),
    first_ms: firstOutputMs && roundToTenths(firstOutputMs),
    ...loggedUsage(billed),
    reported: reported && !isPaid(reported, billed) ? loggedUsage(reported) : undefined,
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

function isPaid(
  { inputTokens, cachedTokens = 0, outputTokens = 0 }: ReportedUsage,
  billed: Usage | undefined,
): boolean {
  return (
    billed?.inputTokens === inputTokens &&
    billed?.cachedTokens === cachedTokens &&
    billed?.outputTokens === outputTokens
  );
}

/** Milliseconds as logs tell them. */
export const roundToTenths = (ms: number) => Math.round(ms * 10) / 10;

import type { DurableRequest, SubmittedRequest } from '../../batches/requests/durable-requests.ts';
import type { BatchEndpoint } from '../../core/batch.ts';
import type { ApiError } from '../../core/errors.ts';
import { editBody } from '../../wire/json/edit-body.ts';
import type { JsonBody } from '../../wire/json/json-body.ts';
import { sseKeepAlive } from '../../wire/shared/sse.ts';
import { type Answer, events, jsonText } from '../answer/answer.ts';
import { idempotencyTokens, replayHeaders } from '../request/idempotency.ts';
import type { Incoming, Services } from '../route.ts';

export interface FlexRequest extends Pick<DurableRequest, 'response'> {
  endpoint: BatchEndpoint;
  body: Pick<JsonBody<Record<string, unknown>>, 'value' | 'text'>;
  /** Has the tag of the usage. */
  metadata?: unknown;
  /** Present for a stream. */
  stream?: {
    /** Converts the JSON text of the answer to events. */
    toEvents: (answer: string) => Iterable<string>;
    /** Last event of a stream that failed. */
    failed: (error: ApiError) => string;
  };
  /** Called when the wait is over. */
  release?: () => void;
}

/**
 * Runs a single request as a line of the batch engine, and waits for its answer. A stream begins once the request is stored, and
 * has only keep-alives until the answer is there. The request continues if the client disconnects.
 */
export async function answerFlex(
  incoming: Incoming,
  services: Pick<Services, 'batches' | 'clock'>,
  { endpoint, body, response, metadata, stream, release }: FlexRequest,
): Promise<Answer> {
  const { batches } = services;
  try {
    const tokenOf = idempotencyTokens(incoming, endpoint);
    const request: DurableRequest = {
      endpoint,
      body: editBody(body, { stream: undefined, stream_options: undefined }),
      ...(response && { response }),
      tier: 'flex',
      metadata,
      timeoutMs: batches.flexTimeoutMs,
      creation: tokenOf(await incoming.body.sha256()),
    };
    const submitted = await batches.requests.submit(incoming.caller, request);
    const answer = answerOf(incoming, services, request, submitted).finally(release);
    const headers = replayHeaders(submitted.replayed);
    if (!stream) {
      const text = await answer;
      incoming.onModel(incoming.trace.model!);
      return jsonText(200, text, headers);
    }
    // The stream reports its error, unless the client has left.
    answer.catch(() => {});
    return events(streamed(answer, stream.toEvents), stream.failed, headers);
  } catch (error) {
    release?.();
    throw error;
  }
}

/**
 * Answer of a request, or of the one that it repeats, which the log then names. A repeated request that has failed runs again.
 */
async function answerOf(
  incoming: Pick<Incoming, 'caller' | 'signal' | 'startedAt' | 'trace'>,
  services: Pick<Services, 'batches' | 'clock'>,
  request: DurableRequest,
  submitted: SubmittedRequest,
): Promise<string> {
  const { caller, signal, startedAt, trace } = incoming;
  const { requests } = services.batches;
  try {
    return await requests.answer(submitted, signal, trace);
  } catch (error) {
    if (!submitted.replayed || signal.aborted) throw error;
    const { creation } = request;
    const again = { ...request, creation: { ...creation, token: `${creation.token}:${submitted.id}` } };
    return answerOf(incoming, services, again, await requests.submit(caller, again));
  } finally {
    const { firstOutputMs } = trace;
    if (firstOutputMs !== undefined)
      trace.queuedMs = Math.max(0, services.clock.now() - startedAt - firstOutputMs);
  }
}

async function* streamed(
  answer: Promise<string>,
  toEvents: (answer: string) => Iterable<string>,
): AsyncGenerator<string> {
  yield sseKeepAlive;
  yield* toEvents(await answer);
}

import type {
  DurableRequest,
  DurableRequests,
  SubmittedRequest,
} from '../batches/requests/durable-requests.ts';
import { ApiError } from '../core/errors.ts';
import type { StoredResponse } from '../core/response.ts';
import type { ServiceTier } from '../core/service-tier.ts';
import type { Inference, InteractiveCall } from '../inference/inference.ts';
import type { TokenAmounts } from '../limits/limiter.ts';
import type { IdempotencyToken } from '../store/contract/idempotency.ts';
import type { JsonBody } from '../wire/json/json-body.ts';
import { remapError } from '../wire/shared/path-map.ts';
import { requireReadable } from '../wire/responses/request/request.ts';
import type { ResponseBody, ResponsesRequest } from '../wire/responses/responses.ts';
import type { createPreparer, PreparedResponse } from './prepare.ts';

/** Tier and identity of a request for a response in the background. */
export interface DurableCall {
  tier: ServiceTier;
  /** Time that it has, in milliseconds; that of the configuration if undefined. */
  timeoutMs: number | undefined;
  creation: IdempotencyToken;
}

export interface DurableDeps {
  requests: DurableRequests;
  inference: Pick<Inference, 'admit'>;
  prepare: Pick<ReturnType<typeof createPreparer>, 'make'>;
  /** Row of an unfinished response. */
  rowOf: (prepared: PreparedResponse, begun: ResponseBody) => StoredResponse;
  /** Reserves memory for a request that runs at once. @throws ApiError `rate_limit_exceeded` (429) */
  reserve: (orgId: string, bytes: number) => () => void;
  /** Time that a response in the background has, in milliseconds. */
  backgroundTimeoutMs: number;
  /** Aborts when the process stops. */
  stopping: AbortSignal;
}

type Leave = (used?: TokenAmounts) => void;

/** Has the batch engine make responses. */
export function createDurable(deps: DurableDeps) {
  const { requests, inference, prepare, rowOf, reserve, backgroundTimeoutMs, stopping } = deps;

  /** Prepares a request that refers to no stored state. The caller leaves `prepared`. */
  async function prepareDurable(
    body: JsonBody<ResponsesRequest>,
    call: Pick<InteractiveCall, 'caller' | 'signal'>,
    tier: ServiceTier,
  ): Promise<Pick<DurableRequest, 'body' | 'response'> & { prepared: PreparedResponse }> {
    const prepared = await prepare.make(body, { ...call, tier });
    const { items, chat, paths, begun } = prepared;
    try {
      requireReadable(items);
      const row = begun.background ? rowOf(prepared, begun) : undefined;
      const input = prepared.inputItems();
      // It has no lease: the batch engine ends it.
      const response = { begun, input, ...(row && { row: { ...row, aliveUntil: row.expiresAt } }) };
      return { prepared, body: prepared.line(), response };
    } catch (error) {
      prepared.leave();
      throw remapError(error, chat, paths());
    }
  }

  /** Admits a request that runs at once: within its rates, and within the memory for such requests. */
  async function admit(
    { chat }: PreparedResponse,
    asked: InteractiveCall,
    { text }: JsonBody<ResponsesRequest>,
  ): Promise<Leave> {
    const release = reserve(asked.caller.orgId, Buffer.byteLength(text));
    try {
      const { admission } = await inference.admit(chat, asked);
      return (used = noTokens) => {
        release();
        admission?.end(used);
      };
    } catch (error) {
      release();
      throw error;
    }
  }

  function leaveAtEnd(submitted: SubmittedRequest, leave: Leave): void {
    if (submitted.replayed) return leave();
    requests.answer(submitted, stopping).then(
      (text) => leave(tokensOf(text)),
      () => leave(),
    );
  }

  return {
    prepare: prepareDurable,

    /** Stores a response and its request, which runs in the background. */
    async start(
      body: JsonBody<ResponsesRequest>,
      asked: InteractiveCall,
      { tier, timeoutMs = backgroundTimeoutMs, creation }: DurableCall,
    ): Promise<{ begun: ResponseBody; submitted: SubmittedRequest }> {
      const { prepared, ...made } = await prepareDurable(body, asked, tier);
      const { begun } = prepared;
      let leave: Leave | undefined;
      try {
        if (tier === 'default') leave = await admit(prepared, asked, body);
        const submitted = await requests.submit(asked.caller, {
          endpoint: '/v1/responses',
          ...made,
          tier,
          metadata: begun.metadata,
          timeoutMs,
          creation,
        });
        if (leave) leaveAtEnd(submitted, leave);
        return { begun, submitted };
      } catch (error) {
        leave?.();
        throw error;
      } finally {
        prepared.leave();
      }
    },

    /** Resolves when a response has ended, or the signal aborts. */
    async ended(requestId: string, signal: AbortSignal): Promise<void> {
      await requests.answer({ id: requestId, replayed: true }, signal).catch((error: unknown) => {
        if (!(error instanceof ApiError) && !signal.aborted) throw error;
      });
    },
  };
}

export type Durable = ReturnType<typeof createDurable>;

const noTokens: TokenAmounts = { inputTokens: 0, outputTokens: 0 };

function tokensOf(text: string): TokenAmounts {
  const { usage } = JSON.parse(text) as ResponseBody;
  return { inputTokens: usage?.input_tokens ?? 0, outputTokens: usage?.output_tokens ?? 0 };
}

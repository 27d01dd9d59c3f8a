import type { RequestLimiter, Admission, TokenAmounts } from '../limits/limiter.ts';
import type { Catalog } from '../core/model.ts';
import type { ChatRequest } from '../wire/chat/chat.ts';
import type { CompletionsRequest } from '../wire/completions/completions.ts';
import type { Inference, InteractiveCall } from './inference.ts';
import { chatTokens, completionTokens, directTokens } from './token-estimates.ts';

/**
 * Inference for single requests within the limits of their org and key. Tokens are reserved by an estimate, and replaced by the
 * charged usage at the end. A request counts once, whatever number of fallbacks it tries.
 */
export function withLimits(
  inference: Inference,
  limiter: RequestLimiter,
  catalog: Pick<Catalog, 'find'>,
): Inference {
  const tokensOf = (chat: ChatRequest) => chatTokens(chat, catalog.find(chat.model)?.contextLength);
  const completionOf = (request: CompletionsRequest) =>
    completionTokens(request, catalog.find(request.model)?.contextLength);

  const admit = (call: InteractiveCall, estimate: () => TokenAmounts) =>
    call.admission ?? limiter.admit(call.caller, estimate, call.onRates);

  const isLimited = ({ admission, caller }: InteractiveCall) =>
    admission !== undefined || limiter.apply(caller);

  async function answered<T>(
    asked: InteractiveCall,
    estimate: () => TokenAmounts,
    run: (call: InteractiveCall) => Promise<T>,
  ): Promise<T> {
    if (!isLimited(asked)) return run(asked);
    const admission = await admit(asked, estimate);
    const call = traced(asked);
    try {
      return await run(call);
    } finally {
      end(admission, call);
    }
  }

  /** Admits when the client begins to read. A stream without limits costs nothing more per chunk. */
  const streamed = <T>(
    asked: InteractiveCall,
    estimate: () => TokenAmounts,
    run: (call: InteractiveCall) => AsyncIterable<T>,
  ): AsyncIterable<T> => ({
    [Symbol.asyncIterator]: () =>
      (isLimited(asked) ? limitedStream(asked, estimate, run) : run(asked))[Symbol.asyncIterator](),
  });

  async function* limitedStream<T>(
    asked: InteractiveCall,
    estimate: () => TokenAmounts,
    run: (call: InteractiveCall) => AsyncIterable<T>,
  ): AsyncGenerator<T> {
    const admission = await admit(asked, estimate);
    const call = traced(asked);
    try {
      yield* run(call);
    } finally {
      end(admission, call);
    }
  }

  return {
    ...inference,
    async admit(chat, call) {
      if (!limiter.apply(call.caller)) return call;
      return { ...call, admission: await admit(call, () => tokensOf(chat)) };
    },
    chat: (request, asked) =>
      answered(
        asked,
        () => tokensOf(request.value),
        (call) => inference.chat(request, call),
      ),
    chatStream: (request, asked) =>
      streamed(
        asked,
        () => tokensOf(request.value),
        (call) => inference.chatStream(request, call),
      ),
    native: (op, native, asked, present) =>
      answered(
        asked,
        () => tokensOf(native.chat),
        (call) => inference.native(op, native, call, present),
      ),
    nativeStream: (op, native, asked, present) =>
      streamed(
        asked,
        () => tokensOf(native.chat),
        (call) => inference.nativeStream(op, native, call, present),
      ),
    direct: (kind, request, asked) =>
      answered(
        asked,
        () => directTokens(kind, request.value),
        (call) => inference.direct(kind, request, call),
      ),
    completions: (request, asked) =>
      answered(
        asked,
        () => completionOf(request.value),
        (call) => inference.completions(request, call),
      ),
    completionsStream: (request, asked) =>
      streamed(
        asked,
        () => completionOf(request.value),
        (call) => inference.completionsStream(request, call),
      ),
  };
}

/** The call with a trace, in which inference notes the charged usage. */
function traced(call: InteractiveCall): InteractiveCall & { trace: object } {
  return call.trace ? (call as InteractiveCall & { trace: object }) : { ...call, trace: {} };
}

function end(admission: Admission, { trace }: InteractiveCall): void {
  const { inputTokens = 0, outputTokens = 0 } = trace?.billed ?? {};
  admission.end({ inputTokens, outputTokens });
}

import { ApiError, type ErrorCode } from '../core/errors.ts';
import type { Engine, EngineCall } from '../engines/engines.ts';
import type { ChatRequest, ChatResponse } from '../wire/chat/chat.ts';
import type { JsonBody } from '../wire/json/json-body.ts';
import { UnfitCall, type Promised } from './conformity.ts';
import { keepCalls } from './kept-calls.ts';
import { sumUsage } from './sum-usage.ts';
import { firstTry, type Problem, secondTry, type Try } from './tries.ts';

/** A request to one engine, and what its answer was promised to be. */
export interface Asking {
  engine: Engine;
  request: JsonBody<ChatRequest>;
  promised: Promised;
  /** Ids for calls that are made of text. */
  newCallId: () => string;
  /** Told why an answer was not taken, before the engine is asked again. */
  noteMiss: (problem: ApiError) => void;
}

/**
 * Runs a request and holds the answer to what was promised: by the engine's own means, then once more by the other means
 * (`tries.ts`), then the error (api.md, section 6). Never a silent miss. The usage is that of all tries that were answered.
 * @throws ApiError `schema_not_met` or `tool_not_called` (502) after the second miss; what the engine throws
 */
export async function runPromised(asking: Asking, call: EngineCall): Promise<ChatResponse> {
  const parts = { ...asking, capabilities: asking.engine.capabilities };
  const first = await attempt(asking, firstTry(parts), call);
  if (first.kept) return first.kept;
  const { problem } = first;
  // Where nothing was promised of the whole answer, there is no other form to ask for it in.
  if (!first.answer && asking.promised.kind === 'text') throw problem;
  asking.noteMiss(problem);
  const second = await attempt(asking, secondTry(parts, problemOf(problem)), call);
  // Of a request that is refused in every form, the client knows the first.
  if (!second.kept) throw second.answer ? second.problem : problem;
  if (!first.answer) return second.kept;
  return { ...second.kept, usage: sumUsage(first.answer.usage, second.kept.usage) };
}

function problemOf(error: ApiError): Problem {
  return {
    message: error.message,
    isRefusal: !broken.has(error.code),
    unfitCall: error instanceof UnfitCall ? error.tool : null,
  };
}

type Outcome =
  | { kept: ChatResponse; answer: ChatResponse }
  | { kept: null; answer: ChatResponse | null; problem: ApiError };

async function attempt(
  { engine, promised }: Asking,
  { request, read }: Try,
  call: EngineCall,
): Promise<Outcome> {
  let answer: ChatResponse | null = null;
  try {
    answer = (await engine.generate(request, call)).body;
    const kept = keepCalls(read(answer), promised.calls);
    await promised.check(kept);
    return { kept, answer };
  } catch (error) {
    if (!(error instanceof ApiError)) throw error;
    const counts = answer ? broken.has(error.code) : isRefused(error);
    if (!counts) throw error;
    return { kept: null, answer, problem: error };
  }
}

const broken: ReadonlySet<ErrorCode> = new Set(['schema_not_met', 'tool_not_called']);

/** An engine that would not take the request: perhaps it knows no response formats, or no forced calls. */
function isRefused({ code, blame }: ApiError): boolean {
  return code === 'request_refused' || (code === 'upstream_error' && !blame.retry);
}

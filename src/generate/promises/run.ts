import { ApiError, type ErrorCode } from '../../core/errors.ts';
import type { Engine, EngineCall } from '../../engines/engines.ts';
import type { ChatRequest, ChatResponse } from '../../wire/chat/chat.ts';
import type { JsonBody } from '../../wire/json/json-body.ts';
import { type Check, UnfitCall } from './check.ts';
import { keepCalls } from './keep.ts';
import type { Rule } from './rule.ts';
import { sumUsage } from './sum-usage.ts';
import { type Problem, type Try, waysOf } from './ways.ts';

/** The engine that is asked, and for what. */
export interface Asking {
  engine: Engine;
  /** The one of which it was found out what is promised. */
  request: JsonBody<ChatRequest>;
  /** Ids for calls that are made of text. */
  newCallId: () => string;
  /** Told why an answer was not taken, before the engine is asked again. */
  noteMiss: (problem: ApiError) => void;
}

/** What an answer is held to. */
export interface Terms {
  rule: Rule;
  /** Null where there is nothing to check. */
  check: Check | null;
}

/**
 * Asks by the engine's own means, then once more by the other means (`ways.ts`), then the error (api.md, section 6). Never a
 * silent miss. The usage is that of all tries that were answered.
 * @throws ApiError `schema_not_met` or `tool_not_called` (502) after the second miss; what the engine throws
 */
export async function runPromised(terms: Terms, asking: Asking, call: EngineCall): Promise<ChatResponse> {
  const { engine, request, newCallId, noteMiss } = asking;
  const { rule } = terms;
  const question = { request, rule, capabilities: engine.capabilities, newCallId };
  const { first, second } = waysOf(question);
  const before = await attempt(terms, engine, first(question, null), call);
  if (before.kept) return before.kept;
  const { problem, answer } = before;
  // Where nothing was promised of the whole answer, there is no other form to ask for it in.
  if (!answer && rule.kind === 'text') throw problem;
  noteMiss(problem);
  const after = await attempt(terms, engine, second(question, problemOf(problem)), call);
  // Of a request that is refused in every form, the client knows the first.
  if (!after.kept) throw after.answer ? after.problem : problem;
  if (!answer) return after.kept;
  return { ...after.kept, usage: sumUsage(answer.usage, after.kept.usage) };
}

function problemOf(error: ApiError): Problem {
  return {
    message: error.message,
    isRefusal: !broken.has(error.code),
    unfitCall: error instanceof UnfitCall ? error.tool : null,
  };
}

type Outcome = { kept: ChatResponse } | { kept: null; answer: ChatResponse | null; problem: ApiError };

async function attempt(
  { rule, check }: Terms,
  engine: Engine,
  { request, read }: Try,
  call: EngineCall,
): Promise<Outcome> {
  let answer: ChatResponse | null = null;
  try {
    answer = (await engine.generate(request, call)).body;
    const kept = keepCalls(read(answer), rule);
    await check?.(kept);
    return { kept };
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

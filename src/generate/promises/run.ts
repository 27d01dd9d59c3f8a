import { ApiError, type ErrorCode } from '../../core/errors.ts';
import type { EngineCall } from '../../engines/engines.ts';
import type { Billed, ChatResponse } from '../../wire/chat/chat.ts';
import { UnfitCall } from './check.ts';
import { keepCalls } from './keep.ts';
import { type Problem, type Question, type Try, waysOf } from './ways.ts';

/**
 * Asks by the engine's own means, then once more by the other means (`ways.ts`), then the error (api.md, section 6). Never a
 * silent miss. The usage is that of the answer; what another one before it took as well is billed, and stands in `billed`.
 * @throws ApiError `schema_not_met` or `tool_not_called` (502) after the second miss; what the engine throws
 */
export async function runPromised(question: Question, call: EngineCall): Promise<ChatResponse> {
  const { first, second } = waysOf(question);
  const before = await attempt(question, first(question, null), call);
  if (before.kept) return before.kept;
  const { problem, answer } = before;
  // Where nothing was promised of the whole answer, there is no other form to ask for it in.
  if (!answer && question.rule.kind === 'text') throw problem;
  question.noteMiss(problem);
  const after = await attempt(question, second(question, problemOf(problem)), call);
  // Of a request that is refused in every form, the client knows the first.
  if (!after.kept) throw after.answer ? after.problem : problem;
  if (!answer) return after.kept;
  const { usage } = after.kept;
  return { ...after.kept, usage: { ...usage, billed: billedFor(answer.usage, usage) } };
}

function billedFor(first: Billed, second: Billed): Billed {
  const { cached_tokens: cached } = first.prompt_tokens_details;
  return {
    prompt_tokens: first.prompt_tokens + second.prompt_tokens,
    completion_tokens: first.completion_tokens + second.completion_tokens,
    prompt_tokens_details: { cached_tokens: cached + second.prompt_tokens_details.cached_tokens },
  };
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
  { engine, rule, check }: Question,
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

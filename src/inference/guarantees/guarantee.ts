import { ApiError, type ErrorCode } from '../../core/errors.ts';
import type { EngineCall } from '../../engines/engines.ts';
import type {
  Billed,
  ChatChoice,
  ChatChunks,
  ChatRequest,
  ChatResponse,
  ChatUsage,
} from '../../wire/chat/chat.ts';
import { answerRule } from '../../wire/chat/answer-rule.ts';
import { toChunks } from '../../wire/chat/stream/to-chunks.ts';
import { addToChoice } from '../../wire/chat/stream/fold-chunks.ts';
import { editBody } from '../../wire/json/edit-body.ts';
import type { Schemas } from '../schemas/schemas.ts';
import { type Check, InvalidCall, createCheck } from './check.ts';
import { filterToolCalls, filterStreamedToolCalls } from './filter-tool-calls.ts';
import { restrictsCalls, isEngineEnforced, needsNoGuarantee } from './engine-guarantees.ts';
import {
  type EngineRequest,
  type Miss,
  type GuardedRequest,
  type Attempt,
  strategiesFor,
} from './strategies.ts';

/**
 * What a request is promised beyond text: calls of tools, JSON under a schema (docs/decisions/0005-guarantees.md). What that is
 * tells its `Rule`. The engine is asked by its own means (`ways.ts`), calls that the rule does not allow are taken out of the
 * answer (`keep.ts`), and what is left is looked at (`check.ts`). One that misses is asked for once more by the other means,
 * then the error (api.md, section 6): never a silent miss.
 */
export interface Guarantee {
  /**
   * Runs the request and holds its answer to the promise. The usage is that of the answer; what another one before it took as
   * well is billed, and stands in `billed`.
   * @throws ApiError `schema_not_met` or `tool_not_called` (502) after the second miss; what the engine throws
   */
  run(asking: EngineRequest, call: EngineCall): Promise<ChatResponse>;
  /**
   * The same as a stream. Where something was promised that the engine does not hold by itself, the answer is made and checked
   * first and streamed afterwards: what a client has seen cannot be taken back. Everything else streams as it comes, and what
   * the engine holds is checked at its end.
   * @param produced told of the usage of an answer that was made first, before anybody sees it
   */
  stream(asking: EngineRequest, call: EngineCall, produced: (usage: ChatUsage) => void): ChatChunks;
}

/**
 * Response formats and tools with a guarantee (`guaranteedTools`) pass the gate for schemas.
 * @param orgId for whom the schemas are compiled and applied
 * @param signal of the request: no schema is compiled or applied for one that has gone
 * @throws ApiError (422) for a schema over the budget or that cannot be compiled
 */
export function createGuarantee(
  request: ChatRequest,
  schemas: Schemas,
  orgId: string,
  signal?: AbortSignal,
): Guarantee | Promise<Guarantee> {
  return needsNoGuarantee(request) ? nothing : createOf(request, schemas, orgId, signal);
}

async function createOf(
  request: ChatRequest,
  schemas: Schemas,
  orgId: string,
  signal?: AbortSignal,
): Promise<Guarantee> {
  const rule = answerRule(request);
  const check = await createCheck(request, rule, schemas, orgId, signal);
  return {
    run: (asking, call) => run({ ...asking, rule, check }, call),
    stream: (asking, call, produced) => stream({ ...asking, rule, check }, call, produced),
  };
}

/** Most requests are for text, which goes as it comes. */
const nothing: Guarantee = {
  run: ({ engine, request }, call) => engine.generate(request, call),
  stream: ({ engine, request }, call) => engine.stream(request, call),
};

async function run(question: GuardedRequest, call: EngineCall): Promise<ChatResponse> {
  const { first, second } = strategiesFor(question);
  const before = await attempt(question, first(question, null), call);
  if (before.kept) return before.kept;
  const { problem, answer } = before;
  // Where nothing was promised of the whole answer, there is no other form to ask for it in.
  if (!answer && question.rule.kind === 'text') throw problem;
  question.onMiss(problem);
  const after = await attempt(question, second(question, problemOf(problem)), call);
  // Of a request that is refused in every form, the client knows the first.
  if (!after.kept) throw after.answer ? withRefusal(after.problem, answer ? null : problem) : problem;
  if (!answer) return after.kept;
  const { usage } = after.kept;
  return { ...after.kept, usage: { ...usage, billed: billedFor(answer.usage, usage) } };
}

async function* stream(
  question: GuardedRequest,
  call: EngineCall,
  produced: (usage: ChatUsage) => void,
): ChatChunks {
  const { engine, request, rule, check } = question;
  if (!isEngineEnforced(rule, engine.capabilities)) {
    const whole = editBody(request, { stream: undefined, stream_options: undefined });
    const response = await run({ ...question, request: whole }, call);
    produced(response.usage);
    yield [...toChunks(response)];
    return;
  }
  const given = engine.stream(strategiesFor(question).first(question, null).request, call);
  const chunks = restrictsCalls(rule) ? filterStreamedToolCalls(given, rule) : given;
  yield* check ? checkedAtEnd(chunks, check) : chunks;
}

type Outcome = { kept: ChatResponse } | { kept: null; answer: ChatResponse | null; problem: ApiError };

async function attempt(
  { engine, rule, check }: GuardedRequest,
  { request, read }: Attempt,
  call: EngineCall,
): Promise<Outcome> {
  let answer: ChatResponse | null = null;
  try {
    answer = await engine.generate(request, call);
    const kept = filterToolCalls(read(answer), rule);
    await check?.(kept);
    return { kept };
  } catch (error) {
    if (!(error instanceof ApiError)) throw error;
    const counts = answer ? broken.has(error.code) : isRefused(error);
    if (!counts) throw error;
    return { kept: null, answer, problem: error };
  }
}

/**
 * Looked at although the engine keeps the promise: there are keywords that its grammar does not hold. Every choice is checked
 * before its finish reason is told.
 * @throws ApiError `schema_not_met` or `tool_not_called`, which ends the stream with an error
 */
async function* checkedAtEnd(lists: ChatChunks, check: Check): ChatChunks {
  const choices: ChatChoice[] = [];
  for await (const chunks of lists) {
    for (const piece of chunks.flatMap((chunk) => chunk.choices)) {
      const choice = addToChoice(choices, piece);
      if (piece.finish_reason !== null) await check({ choices: [choice] });
    }
    yield chunks;
  }
}

const broken: ReadonlySet<ErrorCode> = new Set(['schema_not_met', 'tool_not_called']);

/** An engine that would not take the request: perhaps it knows no response formats, or no forced calls. */
function isRefused({ code, blame }: ApiError): boolean {
  return code === 'request_refused' || (code === 'upstream_error' && !blame.retry);
}

/** A miss of the second form, with why the engine refused the first: often that is the cause. */
function withRefusal(miss: ApiError, refusal: ApiError | null): ApiError {
  if (!refusal) return miss;
  return new ApiError(
    miss.code,
    `${miss.message} The engine was asked in words, because it refused the form of the request: ${refusal.message}`,
  );
}

function problemOf(error: ApiError): Miss {
  return {
    message: error.message,
    isRefusal: !broken.has(error.code),
    unfitCall: error instanceof InvalidCall ? error.tool : null,
  };
}

function billedFor(first: Billed, second: Billed): Billed {
  const { cached_tokens: cached } = first.prompt_tokens_details;
  return {
    prompt_tokens: first.prompt_tokens + second.prompt_tokens,
    completion_tokens: first.completion_tokens + second.completion_tokens,
    prompt_tokens_details: { cached_tokens: cached + second.prompt_tokens_details.cached_tokens },
  };
}

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
 * Properties of an answer beyond text: tool calls, or JSON under a schema (docs/decisions/0005-guarantees.md), as the request's
 * `AnswerRule` says. The engine gets the request in its own form first (`strategies.ts`). Calls that the rule does not allow are
 * removed from the answer (`filter-tool-calls.ts`), and the rest is checked (`check.ts`). After a miss the request is sent once
 * more in another form; a second miss is an error, never silent.
 */
export interface Guarantee {
  /**
   * Runs the request and checks its answer. `usage.billed` includes a first answer that was rejected.
   * @throws ApiError `schema_not_met` or `tool_not_called` (502) after the second miss; errors of the engine
   */
  run(request: EngineRequest, call: EngineCall): Promise<ChatResponse>;
  /**
   * Streams the answer. If the engine does not enforce a guarantee, the whole answer is generated and checked first, because
   * sent text cannot be taken back. Otherwise it streams as generated, and is checked at its end.
   * @param onUsage called with the usage of an answer generated first, before any of it is yielded
   */
  stream(request: EngineRequest, call: EngineCall, onUsage: (usage: ChatUsage) => void): ChatChunks;
}

/**
 * Creates the guarantee of a request and admits its schemas: those of response formats and of guaranteed tools
 * (`guaranteedTools`).
 * @param orgId for whom the schemas are compiled and applied
 * @param signal of the request: after it aborts, no schema is compiled or applied for it
 * @throws ApiError (422) for a schema over the limits or that cannot be compiled
 */
export function createGuarantee(
  request: ChatRequest,
  schemas: Schemas,
  orgId: string,
  signal?: AbortSignal,
): Guarantee | Promise<Guarantee> {
  return needsNoGuarantee(request) ? none : createChecked(request, schemas, orgId, signal);
}

async function createChecked(
  request: ChatRequest,
  schemas: Schemas,
  orgId: string,
  signal?: AbortSignal,
): Promise<Guarantee> {
  const rule = answerRule(request);
  const check = await createCheck(request, rule, schemas, orgId, signal);
  return {
    run: (engineRequest, call) => run({ ...engineRequest, rule, check }, call),
    stream: (engineRequest, call, onUsage) => stream({ ...engineRequest, rule, check }, call, onUsage),
  };
}

/** For plain text, the most common case. */
const none: Guarantee = {
  run: ({ engine, request }, call) => engine.generate(request, call),
  stream: ({ engine, request }, call) => engine.stream(request, call),
};

async function run(request: GuardedRequest, call: EngineCall): Promise<ChatResponse> {
  const { first, second } = strategiesFor(request);
  const before = await attempt(request, first(request, null), call);
  if (before.accepted) return before.accepted;
  const { error, answer } = before;
  // Text has no other form.
  if (!answer && request.rule.kind === 'text') throw error;
  request.onMiss(error);
  const after = await attempt(request, second(request, toMiss(error)), call);
  // If the engine refuses both forms, the client gets the error of its own.
  if (!after.accepted) throw after.answer ? withRefusal(after.error, answer ? null : error) : error;
  if (!answer) return after.accepted;
  const { usage } = after.accepted;
  return { ...after.accepted, usage: { ...usage, billed: sumBilled(answer.usage, usage) } };
}

async function* stream(
  guarded: GuardedRequest,
  call: EngineCall,
  onUsage: (usage: ChatUsage) => void,
): ChatChunks {
  const { engine, request, rule, check } = guarded;
  if (!isEngineEnforced(rule, engine.capabilities)) {
    const whole = editBody(request, { stream: undefined, stream_options: undefined });
    const response = await run({ ...guarded, request: whole }, call);
    onUsage(response.usage);
    yield [...toChunks(response)];
    return;
  }
  const given = engine.stream(strategiesFor(guarded).first(guarded, null).request, call);
  const chunks = restrictsCalls(rule) ? filterStreamedToolCalls(given, rule) : given;
  yield* check ? checkedAtEnd(chunks, check) : chunks;
}

type Outcome = { accepted: ChatResponse } | { accepted: null; answer: ChatResponse | null; error: ApiError };

async function attempt(
  { engine, rule, check }: GuardedRequest,
  { request, read }: Attempt,
  call: EngineCall,
): Promise<Outcome> {
  let answer: ChatResponse | null = null;
  try {
    answer = await engine.generate(request, call);
    const accepted = filterToolCalls(read(answer), rule);
    await check?.(accepted);
    return { accepted };
  } catch (error) {
    if (!(error instanceof ApiError)) throw error;
    const isMiss = answer ? missCodes.has(error.code) : isRefused(error);
    if (!isMiss) throw error;
    return { accepted: null, answer, error };
  }
}

/**
 * Checks a stream that the engine enforces, because its grammars do not cover every keyword. Each choice is checked before its
 * finish reason is yielded.
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

const missCodes: ReadonlySet<ErrorCode> = new Set(['schema_not_met', 'tool_not_called']);

/** True if the engine rejected the request, perhaps because it lacks response formats or forced calls. */
function isRefused({ code, blame }: ApiError): boolean {
  return code === 'request_refused' || (code === 'upstream_error' && !blame.retry);
}

/** Adds to a miss why the engine rejected the first form, which is often the cause. */
function withRefusal(miss: ApiError, refusal: ApiError | null): ApiError {
  if (!refusal) return miss;
  return new ApiError(
    miss.code,
    `${miss.message} The format was requested in words, because the engine rejected the form of the request: ${refusal.message}`,
  );
}

function toMiss(error: ApiError): Miss {
  return {
    message: error.message,
    isRefusal: !missCodes.has(error.code),
    invalidCall: error instanceof InvalidCall ? error.tool : null,
  };
}

function sumBilled(first: Billed, second: Billed): Billed {
  const [a, b] = [first.prompt_tokens_details, second.prompt_tokens_details];
  const written = (a.cache_write_tokens ?? 0) + (b.cache_write_tokens ?? 0);
  return {
    prompt_tokens: first.prompt_tokens + second.prompt_tokens,
    completion_tokens: first.completion_tokens + second.completion_tokens,
    prompt_tokens_details: {
      cached_tokens: a.cached_tokens + b.cached_tokens,
      ...(written > 0 && { cache_write_tokens: written }),
    },
  };
}

import type { EngineCall } from '../../engines/engines.ts';
import type { ChatChunks, ChatRequest, ChatResponse, ChatUsage } from '../../wire/chat/chat.ts';
import type { Schemas } from '../schemas/schemas.ts';
import { createCheck } from './check.ts';
import { promisesNothing, ruleOf } from './rule.ts';
import { runPromised } from './run.ts';
import { streamPromised } from './stream.ts';
import type { Asking } from './ways.ts';

/** What a request is promised beyond text: calls of tools, JSON under a schema (docs/decisions/0005-promises.md). */
export interface Promised {
  /**
   * Runs the request and holds its answer to the promise. The usage is that of all tries that were answered.
   * @throws ApiError `schema_not_met` or `tool_not_called` (502) after the second miss; what the engine throws
   */
  run(asking: Asking, call: EngineCall): Promise<ChatResponse>;
  /**
   * The same as a stream.
   * @param produced told of the usage of an answer that was made first, before anybody sees it
   */
  stream(asking: Asking, call: EngineCall, produced: (usage: ChatUsage) => void): ChatChunks;
}

/**
 * Every schema of the request passes the gate, also that of a tool which need not be called: engines read them all.
 * @param orgId for whom the schemas are compiled and applied
 * @param signal of the request: no schema is compiled or applied for one that has gone
 * @throws ApiError (422) for a schema over the budget or that cannot be compiled
 */
export async function createPromise(
  request: ChatRequest,
  schemas: Schemas,
  orgId: string,
  signal?: AbortSignal,
): Promise<Promised> {
  if (promisesNothing(request)) return nothing;
  const rule = ruleOf(request);
  const check = await createCheck(request, rule, schemas, orgId, signal);
  return {
    run: (asking, call) => runPromised({ ...asking, rule, check }, call),
    stream: (asking, call, produced) => streamPromised({ ...asking, rule, check }, call, produced),
  };
}

/** Most requests are for text, which goes as it comes. */
const nothing: Promised = {
  async run({ engine, request }, call) {
    return (await engine.generate(request, call)).body;
  },
  stream: ({ engine, request }, call) => engine.stream(request, call),
};

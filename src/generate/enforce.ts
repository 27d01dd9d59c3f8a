import { ApiError, type ErrorCode } from '../core/errors.ts';
import type { Engine, EngineCall } from '../engines/engines.ts';
import type { ChatRequest, ChatResponse } from '../wire/chat/chat.ts';
import type { JsonBody } from '../wire/json/json-body.ts';
import type { Promised } from './conformity.ts';

/**
 * Runs a request and holds the answer to what was promised: one more try when it breaks the promise, then the error
 * (api.md, section 6). Never a silent miss.
 */
export async function runPromised(
  engine: Engine,
  request: JsonBody<ChatRequest>,
  promised: Promised | null,
  call: EngineCall,
): Promise<ChatResponse> {
  const asked = adapt(request, engine);
  const first = await engine.generate(asked, call);
  if (!promised || !(await breaks(promised, first.body))) return first.body;
  const second = await engine.generate(asked, call);
  await promised.check(second.body);
  return second.body;
}

async function breaks(promised: Promised, response: ChatResponse): Promise<boolean> {
  try {
    await promised.check(response);
    return false;
  } catch (error) {
    if (error instanceof ApiError && broken.has(error.code)) return true;
    throw error;
  }
}

const broken: ReadonlySet<ErrorCode> = new Set(['schema_not_met', 'tool_not_called']);

/** An engine that ignores a named tool is sent only that tool with `required` (wire-formats.md, section 2.4). */
function adapt(request: JsonBody<ChatRequest>, engine: Engine): JsonBody<ChatRequest> {
  const choice = request.value.tool_choice;
  if (engine.capabilities.forcedTool !== 'filter' || typeof choice !== 'object' || choice === null)
    return request;
  const tools = request.value.tools?.filter((tool) => tool.function.name === choice.function.name) ?? [];
  const value: ChatRequest = { ...request.value, tools, tool_choice: 'required' };
  return { value, text: JSON.stringify(value) };
}

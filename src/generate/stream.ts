import type { Engine, EngineCall } from '../engines/engines.ts';
import type { ChatChunk, ChatRequest } from '../wire/chat/chat.ts';
import type { JsonBody } from '../wire/json/json-body.ts';
import { chunksOf } from './answers.ts';
import type { Promised } from './conformity.ts';
import { runPromised } from './enforce.ts';

/**
 * A streamed answer. Where something was promised that the engine cannot hold by itself, the answer is made and checked
 * first and streamed afterwards: what a client has seen cannot be taken back.
 */
export async function* streamPromised(
  engine: Engine,
  request: JsonBody<ChatRequest>,
  promised: Promised | null,
  signal: AbortSignal,
): AsyncGenerator<ChatChunk> {
  const call: EngineCall = { signal, priority: 'interactive' };
  if (promised && !heldByEngine(engine, request.value)) {
    yield* chunksOf(await runPromised(engine, withoutStream(request), promised, call));
    return;
  }
  yield* engine.stream(request, call);
}

function heldByEngine(engine: Engine, request: ChatRequest): boolean {
  const { jsonSchema, forcedTool } = engine.capabilities;
  const forced = request.tool_choice === 'required' || typeof request.tool_choice === 'object';
  return forced ? forcedTool === 'exact' : jsonSchema === 'exact';
}

function withoutStream(request: JsonBody<ChatRequest>): JsonBody<ChatRequest> {
  const { stream: _stream, stream_options: _options, ...value } = request.value;
  return { value, text: JSON.stringify(value) };
}

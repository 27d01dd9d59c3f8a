import type { EngineCall } from '../engines/engines.ts';
import type { ChatChunks, ChatUsage } from '../wire/chat/chat.ts';
import { chunksOf } from '../wire/chat/chunks-of.ts';
import { checkedAtEnd } from './checked-stream.ts';
import { edited } from './edited.ts';
import { type Asking, runPromised } from './enforce.ts';
import { isFree } from './call-rule.ts';
import { keepStreamedCalls } from './kept-calls.ts';
import { firstTry } from './tries.ts';

/**
 * A streamed answer. Where something was promised that the engine does not hold by itself, the answer is made and checked
 * first and streamed afterwards: what a client has seen cannot be taken back. Everything else streams as it comes, and what
 * the engine holds is checked at its end.
 * @param produced told of the usage of an answer that was made first, before anybody sees it
 */
export async function* streamPromised(
  asking: Asking,
  call: EngineCall,
  produced: (usage: ChatUsage) => void,
): ChatChunks {
  const { engine, promised } = asking;
  if (!isHeld(asking)) {
    const request = edited(asking.request, { stream: undefined, stream_options: undefined });
    const response = await runPromised({ ...asking, request }, call);
    produced(response.usage);
    yield [...chunksOf(response)];
    return;
  }
  const { request } = firstTry({ ...asking, capabilities: engine.capabilities });
  const given = engine.stream(request, call);
  const chunks = isFree(promised.calls) ? given : keepStreamedCalls(given, promised.calls);
  yield* promised.isChecked ? checkedAtEnd(chunks, promised) : chunks;
}

function isHeld({ engine, promised: { kind } }: Asking): boolean {
  const { jsonSchema, forcedTool } = engine.capabilities;
  if (kind === 'text') return true;
  return (kind === 'call' ? forcedTool : jsonSchema) === 'exact';
}

import type { EngineCall } from '../../engines/engines.ts';
import type { ChatChoice, ChatChunks, ChatUsage } from '../../wire/chat/chat.ts';
import { chunksOf } from '../../wire/chat/stream/chunks-of.ts';
import { gather } from '../../wire/chat/stream/fold-chunks.ts';
import { editBody } from '../../wire/json/edit-body.ts';
import type { Check } from './check.ts';
import { keepStreamedCalls } from './keep.ts';
import { filtersCalls, isHeld } from './rule.ts';
import { runPromised } from './run.ts';
import { type Question, waysOf } from './ways.ts';

/**
 * A streamed answer. Where something was promised that the engine does not hold by itself, the answer is made and checked
 * first and streamed afterwards: what a client has seen cannot be taken back. Everything else streams as it comes, and what
 * the engine holds is checked at its end.
 */
export async function* streamPromised(
  question: Question,
  call: EngineCall,
  produced: (usage: ChatUsage) => void,
): ChatChunks {
  const { engine, request, rule, check } = question;
  if (!isHeld(rule, engine.capabilities)) {
    const whole = editBody(request, { stream: undefined, stream_options: undefined });
    const response = await runPromised({ ...question, request: whole }, call);
    produced(response.usage);
    yield [...chunksOf(response)];
    return;
  }
  const given = engine.stream(waysOf(question).first(question, null).request, call);
  const chunks = filtersCalls(rule) ? keepStreamedCalls(given, rule) : given;
  yield* check ? checkedAtEnd(chunks, check) : chunks;
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
      const choice = gather(choices, piece);
      if (piece.finish_reason !== null) await check({ choices: [choice] });
    }
    yield chunks;
  }
}

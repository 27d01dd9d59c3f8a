import type { Clock } from '../../src/base/clock.ts';
import { ApiError, unavailable } from '../../src/core/errors.ts';
import type { Engine, EngineCall } from '../../src/engines/engines.ts';
import type { ChatRequest } from '../../src/wire/chat/chat.ts';
import type { JsonBody } from '../../src/wire/json/json-body.ts';
import { type BatchingCurve, type BatchingServer, createBatchingServer } from './batching-server.ts';
import { chatChunk, chatResponse, createFakeEngine, usage, usageChunk } from './fake-engine.ts';

export interface BatchingEngine extends Engine {
  readonly server: BatchingServer;
}

/** Tokens of a request: one for four characters of its prompt, and all that its answer may have. */
export function tokensOf(chat: Pick<ChatRequest, 'messages' | 'max_completion_tokens'>) {
  return {
    prompt: Math.ceil(JSON.stringify(chat.messages).length / 4),
    tokens: chat.max_completion_tokens ?? 16,
  };
}

/** Engine of a server with continuous batching. @param tokensPerEvent tokens of each event of a stream */
export function createBatchingEngine(clock: Clock, curve: BatchingCurve, tokensPerEvent = 1): BatchingEngine {
  const server = createBatchingServer(clock, curve);

  async function run({ value }: JsonBody<ChatRequest>, { signal }: EngineCall, onToken?: () => void) {
    if (server.isFull) throw new ApiError('engine_overloaded', 'Too many requests.', { blame: unavailable });
    const { prompt, tokens } = tokensOf(value);
    await server.run({ prompt, tokens, signal, ...(onToken && { onToken }) });
    return { prompt, tokens };
  }

  return {
    ...createFakeEngine(),
    slots: null,
    server,
    async generate(request, call) {
      const { prompt, tokens } = await run(request, call);
      return { ...chatResponse('fine'), usage: usage(prompt, tokens) };
    },
    async *stream(request, call) {
      let [made, read] = [0, 0];
      let wake = () => {};
      let isOver = false;
      const done = run(request, call, () => {
        if (++made % tokensPerEvent === 0) wake();
      }).finally(() => {
        isOver = true;
        wake();
      });
      for (;;) {
        const ready = isOver ? made : made - (made % tokensPerEvent);
        if (read < ready) yield [chatChunk(` ${(read = Math.min(ready, read + tokensPerEvent))}`)];
        else if (isOver) break;
        else await new Promise<void>((resolve) => (wake = resolve));
      }
      const { prompt, tokens } = await done;
      yield [usageChunk(prompt, tokens)];
    },
  };
}

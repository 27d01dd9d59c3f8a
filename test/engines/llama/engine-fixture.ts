import { silent } from '../../../src/base/log.ts';
import { systemClock } from '../../../src/base/system.ts';
import type { ApiError } from '../../../src/core/errors.ts';
import {
  type LlamaEngine,
  type LlamaEngineOptions,
  createLlamaEngine,
} from '../../../src/engines/llama/engine.ts';
import type { ChatChunk, ChatRequest, ChatResponse } from '../../../src/wire/chat/chat.ts';

export type Ask = Partial<ChatRequest> | string;

/** Engine with one-line helpers for requests. */
export interface TestEngine {
  engine: LlamaEngine;
  ask: (request: Ask, call?: Partial<Call>) => Promise<ChatResponse>;
  /** Error of a request that must fail. */
  refusal: (request: Ask) => Promise<ApiError>;
  chunks: (request: Ask, call?: Partial<Call>) => Promise<ChatChunk[]>;
}

interface Call {
  signal: AbortSignal;
  priority: 'interactive' | 'batch';
  prefix: string;
}

export function testEngine(options: Partial<LlamaEngineOptions> & { modelPath: string }): TestEngine {
  const engine = createLlamaEngine({
    sequences: 4,
    contextSize: 'auto',
    threads: 1,
    flashAttention: false,
    log: silent,
    clock: systemClock,
    ...options,
  });
  const callWith = (call: Partial<Call> = {}): Call => ({
    signal: new AbortController().signal,
    priority: 'interactive',
    prefix: '',
    ...call,
  });
  const ask: TestEngine['ask'] = async (request, call) =>
    await engine.generate({ value: toRequest(request), text: '' }, callWith(call));
  return {
    engine,
    ask,
    async refusal(request) {
      const outcome: unknown = await ask(request).then(
        () => new Error('The request was answered.'),
        (error: unknown) => error,
      );
      return outcome as ApiError;
    },
    async chunks(request, call) {
      const chunks: ChatChunk[] = [];
      for await (const list of engine.stream({ value: toRequest(request), text: '' }, callWith(call))) {
        chunks.push(...list);
      }
      return chunks;
    },
  };
}

export function toRequest(request: Ask): ChatRequest {
  if (typeof request === 'string') return toRequest({ messages: [{ role: 'user', content: request }] });
  return { model: 'random', messages: [{ role: 'user', content: 'Hello' }], ...request };
}

export function user(content: string): ChatRequest['messages'] {
  return [{ role: 'user', content }];
}

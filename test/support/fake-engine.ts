import { directCalls } from '../../src/engines/direct-calls.ts';
import type { Capabilities, Engine, EngineCall } from '../../src/engines/engines.ts';
import type { ChatChunk, ChatRequest, ChatResponse, ToolCall } from '../../src/wire/chat/chat.ts';
import type { JsonBody } from '../../src/wire/json/json-body.ts';

export interface FakeEngine extends Engine {
  readonly calls: { request: JsonBody<ChatRequest>; call: EngineCall }[];
  /** Answers, one per call; the last one is repeated. */
  answers: (ChatResponse | Error)[];
  chunks: (ChatChunk | Error)[];
}

/** Engine whose answers a test sets in advance. */
export function createFakeEngine(capabilities: Partial<Capabilities> = {}): FakeEngine {
  const calls: FakeEngine['calls'] = [];
  const engine: FakeEngine = {
    capabilities: {
      serves: ['chat', 'embeddings'],
      contextLength: null,
      jsonSchema: 'none',
      forcedTool: 'none',
      inputs: ['image', 'audio', 'file'],
      prefixCache: 'none',
      ...capabilities,
    },
    slots: 4,
    calls,
    answers: [],
    chunks: [],
    async start() {},
    async stop() {},
    async generate(request, call) {
      calls.push({ request, call });
      const answer = engine.answers.length > 1 ? engine.answers.shift()! : engine.answers[0]!;
      if (answer instanceof Error) throw answer;
      return answer;
    },
    async *stream(request, call) {
      calls.push({ request, call });
      for (const chunk of engine.chunks) {
        if (chunk instanceof Error) throw chunk;
        yield [chunk];
      }
    },
    direct: directCalls({
      embeddings: async ({ value: { input } }) => {
        const inputs = Array.isArray(input) ? input : [input];
        return { vectors: inputs.map(() => Float32Array.of(0.5, -1)), promptTokens: 3 };
      },
    }),
    countTokens: async () => 11,
    probe: async () => ({ slots: null, queued: null }),
    tryOut: async () => {},
  };
  return engine;
}

export function chatRequest(more: Partial<ChatRequest> = {}): JsonBody<ChatRequest> {
  const value: ChatRequest = { model: 'm', messages: [{ role: 'user', content: 'hello' }], ...more };
  return { value, text: JSON.stringify(value) };
}

/** Returns an answer with this text or these tool calls. */
export function chatResponse(
  content: string | null,
  { finish = 'stop', calls }: { finish?: 'stop' | 'length' | 'tool_calls'; calls?: [string, string][] } = {},
): ChatResponse {
  const toolCalls = calls?.map(([name, args], at): ToolCall => ({
    id: `call_${at}`,
    type: 'function',
    function: { name, arguments: args },
  }));
  return {
    id: 'chatcmpl_engine',
    object: 'chat.completion',
    created: 1,
    model: 'engine-name',
    choices: [
      {
        index: 0,
        message: { role: 'assistant', content, refusal: null, ...(toolCalls && { tool_calls: toolCalls }) },
        logprobs: null,
        finish_reason: finish,
      },
    ],
    usage: usage(7, 5, 2),
  };
}

export function usage(prompt: number, completion: number, cached = 0): ChatResponse['usage'] {
  return {
    prompt_tokens: prompt,
    completion_tokens: completion,
    total_tokens: prompt + completion,
    prompt_tokens_details: { cached_tokens: cached },
  };
}

export function chatChunk(text: string | null, finish: 'stop' | null = null): ChatChunk {
  return {
    id: 'chatcmpl_engine',
    object: 'chat.completion.chunk',
    created: 1,
    model: 'engine-name',
    choices: [{ index: 0, delta: text === null ? {} : { content: text }, finish_reason: finish }],
  };
}

export function usageChunk(prompt: number, completion: number): ChatChunk {
  return { ...chatChunk(null), choices: [], usage: usage(prompt, completion) };
}

import { ApiError } from '../../../src/core/errors.ts';
import type { Engine } from '../../../src/engines/engines.ts';
import {
  type ScriptedAnswer,
  answerTo,
  promptTokens,
  tokenize,
  writeAnswer,
} from '../../../src/engines/scripted/answer.ts';
import {
  type ScriptedOptions,
  type ScriptedTurn,
  createScriptedEngine,
} from '../../../src/engines/scripted/scripted.ts';
import type { ChatRequest, PromptUsage, Tool, ToolCall } from '../../../src/wire/chat/chat.ts';
import { chatUsage, promptUsage } from '../../../src/wire/chat/usage.ts';
import { createNativeCompletions } from './completions.ts';
import { readPrompt } from './directives.ts';
import { failureFor } from './failures.ts';
import { instanceOf } from './instance.ts';
import { createPrefixCache } from './prefix-cache.ts';

export interface DirectedOptions extends Omit<ScriptedOptions, 'script'> {
  contextLength?: number;
}

export interface DirectedEngine extends Engine {
  /** Calls so far, those running and waiting now, and the most that ran at once. */
  stats(): { calls: number; running: number; waiting: number; peak: number };
}

/**
 * The scripted engine, which also follows the `[[directives]]` of a prompt, meets any schema, calls tools, speaks the
 * completions format, simulates a prefix cache and counts its calls.
 */
export function createDirectedEngine(options: DirectedOptions): DirectedEngine {
  const { slots = 8, contextLength = null } = options;
  const cache = createPrefixCache();
  const engine = createScriptedEngine({ ...options, script });
  /** Visits of the prompts whose directives count them. */
  const seen = new Map<string, number>();
  let calls = 0;
  let inFlight = 0;
  let peak = 0;
  const running = () => Math.min(inFlight, slots);

  function script(request: ChatRequest): ScriptedTurn {
    const { delayMs, fail, badSchema } = readPrompt(request).directives;
    const before = fail || badSchema ? visits(request) : 0;
    return {
      answer: answerFor(request, before < (badSchema?.times ?? 0)),
      ...(delayMs !== undefined && { delayMs }),
      error: fail && before < fail.times ? failureFor(fail.how) : undefined,
    };
  }

  /** Earlier visits of the same conversation; system messages and settings may differ on a second attempt. */
  function visits({ messages }: ChatRequest): number {
    const key = JSON.stringify(messages.filter(({ role }) => role !== 'system'));
    const before = seen.get(key) ?? 0;
    seen.set(key, before + 1);
    return before;
  }

  function enter(): () => void {
    calls++;
    inFlight++;
    peak = Math.max(peak, running());
    return () => void inFlight--;
  }

  async function counted<T>(work: () => Promise<T>): Promise<T> {
    const leave = enter();
    return work().finally(leave);
  }

  function readCached(request: ChatRequest): PromptUsage {
    const tokens = promptTokens(request);
    if (contextLength !== null && tokens.length > contextLength)
      throw new ApiError(
        'context_length_exceeded',
        `The prompt has ${tokens.length} tokens, the model takes ${contextLength}.`,
      );
    return promptUsage(tokens.length, cache.visit(tokens));
  }

  const directed: DirectedEngine = {
    ...engine,
    capabilities: {
      ...engine.capabilities,
      contextLength,
      forcedTool: 'native',
      prefixCache: 'shared',
      formats: { completions: 'native' },
    },
    stats: () => ({ calls, running: running(), waiting: inFlight - running(), peak }),

    generate: (request, call) =>
      counted(async () => {
        const answer = await engine.generate(request, call);
        return { ...answer, usage: chatUsage(readCached(request.value), answer.usage.completion_tokens) };
      }),

    async *stream(request, call) {
      const leave = enter();
      try {
        const { cut } = readPrompt(request.value).directives;
        const prompt = readCached(request.value);
        let count = 0;
        for await (const chunks of engine.stream(request, call))
          for (const { usage, ...chunk } of chunks) {
            if (count++ === cut)
              throw new ApiError('invalid_upstream_response', 'The stream ended too early.');
            yield [
              usage ? { ...chunk, usage: chatUsage(prompt, usage.completion_tokens) } : { ...chunk, prompt },
            ];
          }
      } finally {
        leave();
      }
    },

    direct: (kind, request, call) => counted(() => engine.direct(kind, request, call)),
    native: createNativeCompletions((request, call) => directed.generate(request, call), answerFor),
    probe: async () => ({ ...(await engine.probe()), queued: inFlight - running() }),
  };
  return directed;
}

function answerFor(request: ChatRequest, isBroken = false): ScriptedAnswer {
  const { text, directives } = readPrompt(request);
  if (isBroken) return writeAnswer(request, 'not what was asked for');
  const call = toolCall(request, directives.tool);
  if (call)
    return {
      message: { role: 'assistant', content: null, refusal: null, tool_calls: [call] },
      finish_reason: 'tool_calls',
      tokens: tokenize(call.function.arguments).length + 1,
    };
  if (directives.json !== undefined) return writeAnswer(request, directives.json);
  if (directives.tokens !== undefined && (request.response_format?.type ?? 'text') === 'text')
    return writeAnswer(request, 'word'.padEnd(directives.tokens * 5 - 1, ' word'));
  return answerTo({ ...request, messages: [{ role: 'user', content: text }] }, instanceOf);
}

function toolCall(request: ChatRequest, wanted?: ToolCall['function']): ToolCall | undefined {
  const choice = request.tool_choice ?? 'auto';
  if (choice === 'none' || !request.tools?.length) return undefined;
  if (wanted) return toCall(wanted.name, wanted.arguments);
  if (choice === 'auto') return undefined;
  const isMeant = (tool: Tool) => choice === 'required' || tool.function.name === choice.function.name;
  const tool = request.tools.find(isMeant)?.function;
  return tool && toCall(tool.name, JSON.stringify(instanceOf(tool.parameters ?? { type: 'object' })));
}

function toCall(name: string, json: string): ToolCall {
  return { id: `call_scripted_${name}`, type: 'function', function: { name, arguments: json } };
}

import { type Clock, unixSeconds } from '../../base/clock.ts';
import { createFairGate } from '../../base/fair-gate.ts';
import { unlessAborted } from '../../base/on-abort.ts';
import { ApiError } from '../../core/errors.ts';
import type { ChatChunks, ChatRequest, ChatResponse, ChatUsage } from '../../wire/chat/chat.ts';
import { chatUsage, promptUsage } from '../../wire/chat/usage.ts';
import { type TextInputs, splitTextInputs } from '../../wire/shared/text-inputs.ts';
import type { CompletionsRequest } from '../../wire/completions/completions.ts';
import { echoStripper } from '../../wire/completions/strip-echo.ts';
import type { JsonBody } from '../../wire/json/json-body.ts';
import type { Engine, EngineCall, NativeRequest } from '../engines.ts';
import { type Answer, answerTo } from './answer.ts';
import { chunksOf } from './chunks.ts';
import { complete, piecesOf } from './completions.ts';
import { type Directives, parsePrompt, readPrompt, textOf } from './directives.ts';
import { isEmbeddings } from '../../wire/embeddings/embeddings.ts';
import { failureFor } from './failures.ts';
import { createPrefixCache, tokenize } from './tokens.ts';
import { vectorOf } from './vectors.ts';

export interface ScriptedOptions {
  clock: Clock;
  /** Requests worked on at once; above that they queue. 8 if absent. */
  slots?: number;
  /** How long an answer takes once it has a slot. 0 if absent. */
  delayMs?: number;
  contextLength?: number;
}

export interface ScriptedEngine extends Engine {
  /** What happened so far, for tests: calls begun, and how many run, wait and ran at once at most. */
  stats(): { calls: number; running: number; waiting: number; peak: number };
}

/**
 * An engine without a model: it answers from the prompt alone, the same every time, and does what `[[directives]]` in the
 * last user message say (`directives.ts`). All its time is the clock's, so it runs in the simulation as on a machine.
 */
export function createScriptedEngine(options: ScriptedOptions): ScriptedEngine {
  const { clock, delayMs = 0, contextLength = null } = options;
  const count = options.slots ?? 8;
  const gate = createFairGate({ capacity: count, maxPerOwner: count, priorityOwner: 'interactive' });
  const cache = createPrefixCache();
  const seen = new Map<string, number>();
  let stopping = new AbortController();
  let calls = 0;
  /** That run or wait. */
  let inside = 0;
  let peak = 0;
  const running = () => Math.min(inside, count);
  const waiting = () => inside - running();

  /** How often this prompt came before; only prompts whose directives count are remembered. */
  function visits(prompt: string, directives: Directives): number {
    if (directives.fail?.times === undefined && directives.badSchema?.times === undefined) return 0;
    const before = seen.get(prompt) ?? 0;
    seen.set(prompt, before + 1);
    return before;
  }

  async function inSlot<T>(call: EngineCall, work: () => Promise<T>): Promise<T> {
    const release = await enter(call);
    try {
      return await work();
    } finally {
      release();
    }
  }

  /** Where somebody waits for answers, lines of batches wait until nobody does. */
  async function enter({ signal, priority }: EngineCall): Promise<() => void> {
    const stop = stopping.signal;
    stop.throwIfAborted();
    calls++;
    inside++;
    peak = Math.max(peak, running());
    let release: (() => void) | undefined;
    const leave = () => {
      inside--;
      release?.();
    };
    try {
      release = gate.tryEnter(priority, 1);
      release ??= await gate.enter(priority, 1, AbortSignal.any([signal, stop]));
      return leave;
    } catch (error) {
      leave();
      throw error;
    }
  }

  /** Waits, or fails as soon as the caller or the engine gives up. */
  async function pause(ms: number, signal: AbortSignal): Promise<void> {
    signal.throwIfAborted();
    stopping.signal.throwIfAborted();
    if (ms <= 0) return;
    const over = Promise.withResolvers<void>();
    const timer = ms === Infinity ? undefined : clock.after(ms, over.resolve);
    try {
      await unlessAborted(unlessAborted(over.promise, signal), stopping.signal);
    } finally {
      timer?.cancel();
    }
  }

  async function think(
    directives: Directives,
    before: number,
    share: number,
    signal: AbortSignal,
  ): Promise<void> {
    await pause(directives.hang ? Infinity : (directives.delayMs ?? delayMs) * share, signal);
    if (directives.fail && before < directives.fail.times) throw failureFor(directives.fail.how);
  }

  function respond(request: ChatRequest, before: number): { answers: Answer[]; usage: ChatUsage } {
    const prompt = readPrompt(request);
    const broken = before < (prompt.directives.badSchema?.times ?? 0);
    const promptTokens = tokenize(rendered(request));
    if (contextLength !== null && promptTokens.length > contextLength)
      throw new ApiError(
        'context_length_exceeded',
        `The prompt has ${promptTokens.length} tokens, the model takes ${contextLength}.`,
      );
    const answers = Array.from({ length: request.n ?? 1 }, () => answerTo(request, prompt, broken));
    const output = answers.reduce((sum, answer) => sum + answer.tokens, 0);
    return { answers, usage: chatUsage(promptUsage(promptTokens.length, cache.visit(promptTokens)), output) };
  }

  async function completed(request: JsonBody<NativeRequest>, { signal }: EngineCall) {
    const value = request.value as CompletionsRequest;
    const texts = textsOf('prompt', value.prompt);
    const { directives } = parsePrompt(texts.at(-1) ?? '');
    await think(directives, visits(request.text, directives), 1, signal);
    const { choices, tokens } = complete(value, texts);
    const read = texts.reduce((sum, text) => sum + tokenize(text).length, 0);
    return { choices, usage: chatUsage(promptUsage(read, 0), tokens) };
  }

  const head = () => ({ id: 'chatcmpl_scripted', created: unixSeconds(clock.now()), model: 'scripted' });

  return {
    capabilities: {
      serves: ['chat', 'embeddings'],
      inputs: ['image', 'audio', 'file'],
      contextLength,
      jsonSchema: 'native',
      forcedTool: 'native',
      prefixCache: 'shared',
      formats: { completions: 'native' },
    },
    slots: count,
    stats: () => ({ calls, running: running(), waiting: waiting(), peak }),

    async start() {
      if (stopping.signal.aborted) stopping = new AbortController();
    },

    async stop() {
      stopping.abort(new ApiError('shutting_down', 'The engine is being stopped.'));
    },

    generate({ value: request }, call) {
      return inSlot(call, async (): Promise<ChatResponse> => {
        const { directives } = readPrompt(request);
        const before = visits(conversation(request), directives);
        await think(directives, before, 1, call.signal);
        const { answers, usage } = respond(request, before);
        const choices = answers.map(({ message, finishReason, stop }, index) => ({
          index,
          message,
          logprobs: null,
          finish_reason: finishReason,
          ...(stop !== undefined && { stop_reason: stop }),
        }));
        return { ...head(), object: 'chat.completion', choices, usage };
      });
    },

    async *stream({ value: request }, call): ChatChunks {
      const release = await enter(call);
      try {
        const { directives } = readPrompt(request);
        const before = visits(conversation(request), directives);
        const { answers, usage } = respond(request, before);
        const chunks = chunksOf(head(), answers, usage);
        for (const [n, chunk] of chunks.entries()) {
          if (n === directives.cut)
            throw new ApiError('invalid_upstream_response', 'The stream ended too early.');
          await think(directives, before, 1 / chunks.length, call.signal);
          yield [chunk];
        }
      } finally {
        release();
      }
    },

    embed({ value: request, text }, call) {
      return inSlot(call, async () => {
        const inputs = textsOf('input', request.input);
        const { directives } = parsePrompt(inputs.at(-1) ?? '');
        await think(directives, visits(text, directives), 1, call.signal);
        const vectors = inputs.map((input) => vectorOf(input, request.dimensions ?? 64));
        const promptTokens = inputs.reduce((sum, input) => sum + tokenize(input).length, 0);
        return { vectors, promptTokens };
      });
    },

    // Nothing else is native here.
    native: {
      generate: (_, request, call) =>
        inSlot(call, async () => {
          const { choices, usage } = await completed(request, call);
          return { text: '', fields: { choices }, usage };
        }),
      async *stream(_, request, call) {
        const release = await enter(call);
        try {
          const { choices, usage } = await completed(request, call);
          const said = echoStripper(request.value as CompletionsRequest);
          for (const piece of choices.flatMap(piecesOf))
            yield [{ type: '', data: '', fields: { choices: [piece] }, delta: said(piece) }];
          yield [{ type: '', data: '', usage }];
        } finally {
          release();
        }
      },
    },

    async tryOut() {
      stopping.signal.throwIfAborted();
    },

    async probe() {
      stopping.signal.throwIfAborted();
      return { slots: count, queued: waiting() };
    },

    async countTokens(request) {
      return isEmbeddings(request) ? undefined : tokenize(rendered(request)).length;
    },
  };
}

function rendered(request: ChatRequest): string {
  const tools = request.tools?.length ? `${JSON.stringify(request.tools)}\n` : '';
  return tools + request.messages.map(({ role, content }) => `${role}\n${textOf(content)}\n`).join('');
}

/** A prompt that comes again is the same one whatever systems and settings say: a second try says more than the first. */
function conversation({ messages }: ChatRequest): string {
  return JSON.stringify(messages.filter(({ role }) => role !== 'system'));
}

/** Token ids are words of their own. */
function textsOf(param: string, inputs: TextInputs): string[] {
  return splitTextInputs(param, inputs).map(({ input }) =>
    typeof input === 'string' ? input : input.join(' '),
  );
}

import { type Clock, sleep, unixSeconds } from '../../base/clock.ts';
import { createFairGate } from '../../base/fair-gate.ts';
import { ApiError } from '../../core/errors.ts';
import type { ChatChunk, ChatDelta, ChatRequest, ChatResponse } from '../../wire/chat/chat.ts';
import { chatUsage, promptUsage } from '../../wire/chat/usage.ts';
import { isEmbeddings } from '../../wire/embeddings/embeddings.ts';
import type { Engine, EngineCall } from '../engines.ts';
import { type ScriptedAnswer, answerTo, promptTokens, tokenize } from './answer.ts';
import { createScriptedDirect } from './direct.ts';

export interface ScriptedOptions {
  clock: Clock;
  /** Requests processed concurrently; others are queued. Default 8. */
  slots?: number;
  /** Time that an answer takes in its slot. Default 0. */
  delayMs?: number;
  /** Replaces the answers, for tests. Direct requests get the timing of a chat with their last input. */
  script?: (request: ChatRequest) => ScriptedTurn;
}

export interface ScriptedTurn {
  answer: ScriptedAnswer;
  /** Replaces the delay of the engine. */
  delayMs?: number;
  /** Thrown after the delay, in place of the answer. */
  error?: ApiError | undefined;
}

/** An engine without a model, whose answers depend on the request alone. It waits by `clock`, also a simulated one. */
export function createScriptedEngine(options: ScriptedOptions): Engine {
  const { clock, slots = 8, delayMs = 0, script = (request) => ({ answer: answerTo(request) }) } = options;
  const gate = createFairGate({ capacity: slots, maxPerOwner: slots, priorityOwner: 'interactive' });
  let stopping = new AbortController();

  /** Interactive requests get a free slot before those of batches. */
  async function enter({ signal, priority }: EngineCall): Promise<() => void> {
    stopping.signal.throwIfAborted();
    return gate.tryEnter(priority, 1) ?? gate.enter(priority, 1, AbortSignal.any([signal, stopping.signal]));
  }

  async function inSlot<T>(call: EngineCall, work: () => Promise<T>): Promise<T> {
    const leave = await enter(call);
    return work().finally(leave);
  }

  async function wait(turn: ScriptedTurn, share: number, { signal }: EngineCall): Promise<void> {
    const ms = (turn.delayMs ?? delayMs) * share;
    const stopped = stopping.signal;
    if (ms > 0) await sleep(clock, ms, AbortSignal.any([signal, stopped]));
    for (const each of [signal, stopped]) each.throwIfAborted();
    if (turn.error) throw turn.error;
  }

  function respond(request: ChatRequest, { answer: { tokens, ...choice } }: ScriptedTurn): ChatResponse {
    const count = request.n ?? 1;
    return {
      id: 'chatcmpl_scripted',
      object: 'chat.completion',
      created: unixSeconds(clock.now()),
      model: 'scripted',
      choices: Array.from({ length: count }, (_, index) => ({ index, ...choice, logprobs: null })),
      usage: chatUsage(promptUsage(promptTokens(request).length, 0), tokens * count),
    };
  }

  return {
    capabilities: {
      serves: ['chat', 'embeddings'],
      inputs: ['image', 'audio', 'file'],
      contextLength: null,
      jsonSchema: 'native',
      forcedTool: 'none',
      prefixCache: 'none',
    },
    slots,

    start: async () => void (stopping = new AbortController()),
    stop: async () => stopping.abort(new ApiError('shutting_down', 'The engine is shutting down.')),

    generate: ({ value: request }, call) =>
      inSlot(call, async () => {
        const turn = script(request);
        await wait(turn, 1, call);
        return respond(request, turn);
      }),

    async *stream({ value: request }, call) {
      const leave = await enter(call);
      try {
        const turn = script(request);
        const chunks = toChunks(respond(request, turn));
        for (const chunk of chunks) {
          await wait(turn, 1 / chunks.length, call);
          yield [chunk];
        }
      } finally {
        leave();
      }
    },

    direct: createScriptedDirect((model, lastInput, call, answer) =>
      inSlot(call, async () => {
        await wait(script({ model, messages: [{ role: 'user', content: lastInput }] }), 1, call);
        return answer();
      }),
    ),

    tryOut: async () => stopping.signal.throwIfAborted(),
    probe: async () => {
      stopping.signal.throwIfAborted();
      return { slots, queued: null };
    },
    countTokens: async (request) => (isEmbeddings(request) ? undefined : promptTokens(request).length),
  };
}

/** A whole answer as the chunks of a stream: for each choice role, pieces and finish reason; then the usage. */
function toChunks({ choices, usage, id, created, model }: ChatResponse): ChatChunk[] {
  const head = { id, object: 'chat.completion.chunk', created, model } as const;
  const chunks = choices.flatMap(({ index, message: { content, tool_calls: calls = [] }, ...end }) => {
    const callPieces = calls.flatMap(({ function: { name, arguments: text }, ...call }, at) => [
      { index: at, ...call, function: { name, arguments: '' } },
      ...pieces(text).map((part) => ({ index: at, function: { arguments: part } })),
    ]);
    const deltas: ChatDelta[] = [
      { role: 'assistant', content: '' },
      ...pieces(content ?? '').map((part) => ({ content: part })),
      ...callPieces.map((piece) => ({ tool_calls: [piece] })),
    ];
    const open = { index, logprobs: null, finish_reason: null };
    return [...deltas.map((delta) => ({ ...open, delta })), { ...open, delta: {}, ...end }];
  });
  return [
    ...chunks.map((choice) => ({ ...head, choices: [choice], usage: null })),
    { ...head, choices: [], usage },
  ];
}

/** `text` in at most four pieces. */
function pieces(text: string): string[] {
  const tokens = tokenize(text);
  const size = Math.max(1, Math.ceil(tokens.length / 4));
  const starts = Array.from({ length: Math.ceil(tokens.length / size) }, (_, i) => i * size);
  return starts.map((at) => tokens.slice(at, at + size).join(''));
}

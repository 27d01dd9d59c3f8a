import { basename } from 'node:path';
import { type Clock, unixSeconds } from '../../base/clock.ts';
import { createFairGate } from '../../base/fair-gate.ts';
import { type Ids, createIds } from '../../base/ids.ts';
import type { Log } from '../../base/log.ts';
import { StartError } from '../../base/start-error.ts';
import { systemRandom } from '../../base/system.ts';
import type { ChatChunk, ChatChunks, ChatRequest } from '../../wire/chat/chat.ts';
import type { JsonBody } from '../../wire/json/json-body.ts';
import { directCalls } from '../direct-calls.ts';
import type { Capabilities, Engine, EngineCall, NativeEvent, NativeRequest } from '../engines.ts';
import { sendMinimalRequest } from '../minimal-request.ts';
import { pushIterable } from './push-iterable.ts';
import { type Spawn, spawnChild } from './child-process.ts';
import type { EngineResults, EngineRequest, Deltas, LoadOptions } from './protocol.ts';
import { createSupervisor } from './supervisor.ts';

export interface LlamaEngineOptions extends LoadOptions {
  log: Log;
  clock: Clock;
  ids?: Ids;
  spawn?: Spawn;
}

export interface LlamaEngine extends Engine {
  /** Process of the model. */
  readonly pid: number | undefined;
}

/** Models with a card start one after the other: each takes what the ones before leave of its memory. */
const cardGate = createFairGate({ capacity: 1, maxPerOwner: 1 });

/** Runs a GGUF model in a child process with the optional package node-llama-cpp. `start` loads it or throws `StartError`. */
export function createLlamaEngine(deps: LlamaEngineOptions): LlamaEngine {
  const { modelPath, sequences, contextSize, threads, flashAttention, card, log, clock } = deps;
  const ids = deps.ids ?? createIds(clock, systemRandom);
  const name = basename(modelPath, '.gguf');
  const loadOptions = { modelPath, sequences, contextSize, threads, flashAttention, ...(card && { card }) };
  const supervisor = createSupervisor(loadOptions, deps.spawn ?? spawnChild, clock, log);

  let stopping = new AbortController();

  /** Members that all chunks of a request, or its response, begin with. */
  const envelope = () => ({ id: ids.next('chatcmpl_'), created: unixSeconds(clock.now()), model: name });

  /** Runs a request, streamed if `onDelta` is given. */
  function run<Op extends 'generate' | 'complete'>(
    op: Op,
    { value: request }: JsonBody<ChatRequest | NativeRequest>,
    { priority, signal, prefix = '' }: EngineCall,
    onDelta?: (delta: Deltas[Op]) => void,
  ): Promise<EngineResults[Op]> {
    const options = { priority, prefix, streamed: onDelta !== undefined };
    const ask = { op, request, options } as EngineRequest & { op: Op };
    return supervisor.run<Op>(ask, { signal, priority, onDelta });
  }

  const engine: LlamaEngine = {
    slots: sequences,
    get capabilities(): Capabilities {
      return {
        serves: supervisor.model?.serves ?? ['chat', 'embeddings'],
        inputs: [],
        contextLength: supervisor.model?.contextLength ?? null,
        jsonSchema: 'exact',
        forcedTool: 'exact',
        // Sequences of a context do not share their caches.
        prefixCache: 'slot',
        formats: { completions: 'native' },
      };
    },
    get pid() {
      return supervisor.pid;
    },

    async start() {
      stopping = new AbortController();
      const start = async () => void (await supervisor.start());
      await (card ? cardGate.within('', 1, stopping.signal, start) : start());
    },
    async stop() {
      stopping.abort(new StartError('The engine was stopped before it started.'));
      await supervisor.stop();
    },

    async generate(request, call) {
      const { choices, usage } = await run('generate', request, call);
      return { ...envelope(), object: 'chat.completion', choices, usage };
    },

    stream(request, call): ChatChunks {
      const head = { ...envelope(), object: 'chat.completion.chunk' as const };
      return pushIterable<ChatChunk>(call.signal, async (signal, put) => {
        const onDelta = (delta: Deltas['generate']) => put([{ ...head, ...delta }]);
        const { usage } = await run('generate', request, { ...call, signal }, onDelta);
        put([{ ...head, choices: [], usage }]);
      });
    },

    // Completions are the only native format.
    native: {
      async generate(_, request, call) {
        const { choices, usage } = await run('complete', request, call);
        return { text: '', fields: { choices }, usage };
      },
      stream(_, request, call) {
        return pushIterable<NativeEvent>(call.signal, async (signal, put) => {
          const onDelta = (delta: Deltas['complete']) => put([{ type: '', data: '', ...delta }]);
          const { usage } = await run('complete', request, { ...call, signal }, onDelta);
          put([{ type: '', data: '', usage }]);
        });
      },
    },

    direct: directCalls({
      embeddings: ({ value: request }, { signal, priority }) =>
        supervisor.run({ op: 'embed', request }, { signal, priority }),
    }),

    tryOut: (signal) => sendMinimalRequest(engine, signal),

    async probe() {
      supervisor.requireRunning();
      return { slots: sequences, queued: null };
    },

    async countTokens(request) {
      const { signal } = new AbortController();
      return supervisor.run({ op: 'count', request }, { signal, priority: 'interactive' });
    },
  };
  return engine;
}

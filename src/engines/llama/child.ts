import { enableCompileCache } from 'node:module';
import { constants, setPriority } from 'node:os';
import { createIds } from '../../base/ids.ts';
import { StartError } from '../../base/start-error.ts';
import { systemClock, systemRandom } from '../../base/system.ts';
import { ApiError } from '../../core/errors.ts';
import { spawnChild } from './child-process.ts';
import { cardExaminer } from './examine-cards.ts';
import { ModelFileError } from './files/faults.ts';
import { findCards } from './gpu/find-cards.ts';
import { openCards } from './gpu/open-cards.ts';
import { startLibrary } from './gpu/start-library.ts';
import { type LlamaInference, createLlamaInference } from './inference/llama-inference.ts';
import { loadModel } from './inference/loading/load.ts';
import type {
  EngineResult,
  EngineRequest,
  Delta,
  Failure,
  FromChild,
  LoadOptions,
  ToChild,
} from './protocol.ts';

// Process in which llama.cpp runs. It answers its parent and dies with it; a native crash ends only this process.

const working = new Map<number, AbortController>();
let inference: LlamaInference | undefined;

// Compiling the library is most of a start.
enableCompileCache();
// Ctrl-C reaches the whole process group, but only the parent decides when work ends.
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, () => {});
process.on('disconnect', () => process.exit(0));
process.on('message', (message: ToChild) => void receive(message));

function send(message: FromChild): void {
  if (process.connected) process.send?.(message);
}

async function receive(message: ToChild): Promise<void> {
  switch (message.type) {
    case 'load':
      return load(message.options);
    case 'examine':
      return send({ type: 'examined', choice: await openCards(message.kind, message.folder, startLibrary) });
    case 'ask':
      return answer(message.id, message.ask);
    case 'abort':
      working.get(message.id)?.abort(new Error('The caller has gone.'));
      return;
    case 'ping':
      send({ type: 'pong', steps: inference?.steps ?? 0, working: working.size });
  }
}

function work(
  loaded: LlamaInference,
  id: number,
  ask: EngineRequest,
  signal: AbortSignal,
): EngineResult | Promise<EngineResult> {
  if (ask.op === 'embed') return loaded.embed(ask.request, signal);
  if (ask.op === 'count') return loaded.countTokens(ask.request);
  const onDelta = ask.options.streamed ? (delta: Delta) => send({ type: 'delta', id, delta }) : undefined;
  const call = { ...ask.options, signal, onDelta };
  return ask.op === 'generate' ? loaded.generate(ask.request, call) : loaded.complete(ask.request, call);
}

async function load(options: LoadOptions): Promise<void> {
  try {
    const loaded = await loadModel(options, {
      clock: systemClock,
      findCards: ({ gpu, folder }) =>
        findCards(gpu, folder, { platform: process, examine: cardExaminer(spawnChild, systemClock) }),
    });
    inference = createLlamaInference(loaded, createIds(systemClock, systemRandom), systemRandom);
    // From here on the threads of the API come first.
    setPriority(constants.priority.PRIORITY_BELOW_NORMAL);
    const { hasDecoder } = loaded.model.fileInsights;
    send({
      type: 'loaded',
      model: {
        serves: hasDecoder ? ['chat', 'embeddings'] : ['embeddings'],
        contextLength: loaded.contextLength,
        threads: loaded.threads,
        bytes: { model: loaded.fileBytes, cache: loaded.cacheBytes },
        ...(loaded.card && { card: loaded.card }),
        ...(loaded.note !== null && { note: loaded.note }),
      },
    });
  } catch (error) {
    const message =
      error instanceof StartError ? error.message : `The model cannot be loaded: ${String(error)}`;
    const hint = error instanceof ModelFileError && error.hint !== undefined ? ` ${error.hint}` : '';
    send({ type: 'refused', message: message + hint });
  }
}

async function answer(id: number, ask: EngineRequest): Promise<void> {
  const controller = new AbortController();
  working.set(id, controller);
  try {
    if (!inference) throw new Error('No model is loaded.');
    send({ type: 'done', id, answer: await work(inference, id, ask, controller.signal) });
  } catch (error) {
    send({ type: 'failed', id, error: toFailure(error) });
  } finally {
    working.delete(id);
  }
}

function toFailure(error: unknown): Failure {
  if (error instanceof ApiError) return { code: error.code, message: error.message, param: error.param };
  const message = error instanceof Error ? error.message : String(error);
  return { code: 'upstream_error', message: `The embedded engine failed: ${message}`, param: null };
}

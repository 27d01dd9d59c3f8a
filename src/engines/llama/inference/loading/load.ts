import { stat } from 'node:fs/promises';
import type * as library from 'node-llama-cpp';
import type { Llama, LlamaContext, LlamaModel } from 'node-llama-cpp';
import type { Clock } from '../../../../base/clock.ts';
import { StartError } from '../../../../base/start-error.ts';
import { readModel } from '../../files/read-model.ts';
import { readShape } from '../../gguf/shape.ts';
import type { LoadOptions } from '../../protocol.ts';
import { batchSize } from '../scheduling/batch-gate.ts';
import { planContext } from './memory.ts';
import { chooseThreads, measureSpeed, threadCandidates } from './threads.ts';

export type Library = typeof library;

export interface Loaded {
  library: Library;
  llama: Llama;
  model: LlamaModel;
  context: LlamaContext;
  /** Tokens of one sequence, for prompt and answer. */
  contextLength: number;
  threads: number;
  fileBytes: number;
  cacheBytes: number;
}

/** Clock, and values that tests replace. */
export interface LoadDeps {
  clock: Clock;
  /** Size in bytes at which several numbers of threads are measured. */
  calibrateFrom?: number;
  cores?: number;
}

/** Models below this size lose more to synchronization than they gain from threads. */
const smallModelBytes = 300 * 1024 ** 2;
/** For all measurements; a slow model takes a token longer. */
const calibrationMs = 1_000;

/** Loads library, model and context. @throws StartError with what to do */
export async function loadModel(options: LoadOptions, deps: LoadDeps): Promise<Loaded> {
  const { modelPath, sequences } = options;
  const { headers, bytes: fileBytes } = await readModel(modelPath, { stat });
  const plan = planContext(readShape(headers, fileBytes), options, process.availableMemory());
  if (plan.misfit !== null) throw new StartError(plan.misfit);
  const complaints: string[] = [];
  const { library, llama } = await startLlama((line) => complaints.push(line));
  try {
    // Memory was checked above; the estimate of the library also counts mapped pages that can be dropped.
    const model = await llama.loadModel({ modelPath, gpuLayers: 0, ignoreMemorySafetyChecks: true });
    const cores = deps.cores ?? llama.cpuMathCores;
    const threads = await threadsFor(model, options, { ...deps, cores, fileBytes });
    const context = await model.createContext({
      sequences,
      contextSize: plan.contextSize,
      threads,
      batchSize: batchSize(sequences),
      flashAttention: options.flashAttention,
      failedCreationRemedy: false,
      ignoreMemorySafetyChecks: true,
    });
    const contextLength = Math.min(plan.contextSize, context.contextSize);
    return { library, llama, model, context, contextLength, threads, fileBytes, cacheBytes: plan.cacheBytes };
  } catch (error) {
    throw new StartError(loadFailure(modelPath, error, complaints), { cause: error });
  }
}

async function startLlama(complain: (line: string) => void): Promise<{ library: Library; llama: Llama }> {
  try {
    const library = await import('node-llama-cpp');
    const llama = await library.getLlama({
      gpu: false,
      build: 'never',
      skipDownload: true,
      progressLogs: false,
      maxThreads: 0,
      logLevel: library.LlamaLogLevel.error,
      logger: (_level, message) => complain(message.trim()),
    });
    return { library, llama };
  } catch (error) {
    throw new StartError(missingLibrary(reason(error)), { cause: error });
  }
}

/** The configured number of threads, or the fastest one by measurement. */
async function threadsFor(
  model: LlamaModel,
  options: LoadOptions,
  { clock, cores, fileBytes, calibrateFrom }: LoadDeps & { cores: number; fileBytes: number },
): Promise<number> {
  if (options.threads !== 'auto') return options.threads;
  if (fileBytes < (calibrateFrom ?? smallModelBytes) || !model.fileInsights.hasDecoder) return 1;
  const candidates = threadCandidates(cores);
  const ms = calibrationMs / candidates.length;
  const { flashAttention } = options;
  return chooseThreads(candidates, (threads) => measureSpeed(model, { threads, flashAttention }, ms, clock));
}

function loadFailure(modelPath: string, error: unknown, complaints: readonly string[]): string {
  const details = [...new Set([reason(error), ...complaints])].filter((line) => line !== '').slice(0, 3);
  return `The model ${modelPath} cannot be loaded: ${details.join('; ')}.`;
}

/** Message for an installation without the optional packages. The binaries are separate packages. */
function missingLibrary(why: string): string {
  const { platform, arch } = process;
  const names: Record<string, string> = { darwin: 'mac', win32: 'win' };
  const binary = `@node-llama-cpp/${names[platform] ?? platform}-${arch === 'arm' ? 'armv7l' : arch}${
    platform === 'darwin' && arch === 'arm64' ? '-metal' : ''
  }`;
  return (
    `The embedded engine cannot be loaded (${why}). Offpeak was installed without its optional packages; ` +
    `this adds the engine: npm install --omit=optional node-llama-cpp@3 ${binary}@3`
  );
}

function reason(error: unknown): string {
  const message = error instanceof Error ? error.message : String(error);
  return message.split('\n')[0]!.replace(/[.\s]+$/, '');
}

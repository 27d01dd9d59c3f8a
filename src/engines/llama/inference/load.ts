import { stat } from 'node:fs/promises';
import type * as library from 'node-llama-cpp';
import type { GgufFileInfo, Llama, LlamaContext, LlamaModel } from 'node-llama-cpp';
import type { Clock } from '../../../base/clock.ts';
import { StartError } from '../../../base/start-error.ts';
import type { LoadOptions } from '../protocol.ts';
import { prefillChunk } from './generation.ts';
import { measureSpeed } from './measure-speed.ts';
import { type ModelShape, planContext } from './memory.ts';
import { chooseThreads, threadCandidates } from './threads.ts';

export type Library = typeof library;

export interface Loaded {
  library: Library;
  llama: Llama;
  model: LlamaModel;
  context: LlamaContext;
  /** Tokens of one sequence, prompt and answer together. */
  contextLength: number;
  threads: number;
  fileBytes: number;
  cacheBytes: number;
}

/** For tests, which have no such model. */
export interface LoadDeps {
  clock: Clock;
  /** Bytes from which a model is tried with several numbers of threads. */
  calibrateFrom?: number;
  cores?: number;
}

/** Models below this size lose more to threads waiting for each other than they gain. */
const smallModelBytes = 300 * 1024 ** 2;
/** For all numbers of threads together; a slow model takes a token longer. */
const calibrationMs = 1_000;

/** Loads library, model and context. Whatever stands in the way is a `StartError` that says what to do. */
export async function loadModel(options: LoadOptions, deps: LoadDeps): Promise<Loaded> {
  const { modelPath, sequences } = options;
  const fileBytes = await sizeOf(modelPath);
  const library = await importLibrary();
  const info = await readInfo(library, modelPath, fileBytes);
  const plan = planContext(shapeOf(info, fileBytes), options, process.availableMemory());
  const complaints: string[] = [];
  const llama = await startLlama(library, (line) => complaints.push(line));
  try {
    // Memory was computed above; the library's own estimate also counts what mmap can give back.
    const model = await llama.loadModel({ modelPath, gpuLayers: 0, ignoreMemorySafetyChecks: true });
    const threads = await threadsFor(model, options, {
      ...deps,
      cores: deps.cores ?? llama.cpuMathCores,
      fileBytes,
    });
    const context = await model.createContext({
      sequences,
      contextSize: plan.contextSize,
      threads,
      batchSize: prefillChunk + sequences,
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

async function sizeOf(modelPath: string): Promise<number> {
  try {
    const file = await stat(modelPath);
    if (file.isFile()) return file.size;
  } catch (error) {
    throw new StartError(`The model file ${modelPath} cannot be read: ${reason(error)}.`, { cause: error });
  }
  throw new StartError(`The model path ${modelPath} is not a file.`);
}

async function importLibrary(): Promise<Library> {
  try {
    return await import('node-llama-cpp');
  } catch (error) {
    throw new StartError(missingLibrary(reason(error)), { cause: error });
  }
}

async function readInfo(library: Library, modelPath: string, fileBytes: number): Promise<GgufFileInfo> {
  let info: GgufFileInfo;
  try {
    info = await library.readGgufFileInfo(modelPath, { sourceType: 'filesystem', logWarnings: false });
  } catch (error) {
    throw new StartError(`${modelPath} is not a whole GGUF model file: ${reason(error)}.`, { cause: error });
  }
  const isWhole = info.tensorInfo?.every(({ fileOffset }) => Number(fileOffset) < fileBytes) ?? true;
  if (!isWhole && info.splicedParts <= 1) {
    throw new StartError(
      `${modelPath} is cut short: it has ${fileBytes} bytes, and its tensors lie beyond. Fetch it again.`,
    );
  }
  return info;
}

function shapeOf(info: GgufFileInfo, fileBytes: number): ModelShape {
  const {
    block_count: layers,
    embedding_length: width,
    context_length: trained,
    attention,
  } = info.architectureMetadata;
  const heads = widest(attention?.head_count, 1);
  const keyHeads = widest(attention?.head_count_kv, heads);
  const headWidth = (width ?? 0) / heads;
  return {
    layers: layers ?? 0,
    keyWidth: keyHeads * (attention?.key_length ?? headWidth),
    valueWidth: keyHeads * (attention?.value_length ?? headWidth),
    trainedContext: trained ?? Infinity,
    fileBytes,
  };
}

/** Some architectures list a head count for each layer. */
function widest(counts: number | number[] | undefined, otherwise: number): number {
  return counts === undefined ? otherwise : Math.max(1, ...[counts].flat());
}

async function startLlama(library: Library, complain: (line: string) => void): Promise<Llama> {
  try {
    return await library.getLlama({
      gpu: false,
      build: 'never',
      skipDownload: true,
      progressLogs: false,
      maxThreads: 0,
      logLevel: library.LlamaLogLevel.error,
      logger: (_level, message) => complain(message.trim()),
    });
  } catch (error) {
    throw new StartError(missingLibrary(reason(error)), { cause: error });
  }
}

/** As many threads as asked for, or as many as are fastest here and now. */
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
  const { chosen } = await chooseThreads(candidates, (threads) =>
    measureSpeed(model, { threads, ms, flashAttention, clock }),
  );
  return chosen;
}

function loadFailure(modelPath: string, error: unknown, complaints: readonly string[]): string {
  const details = [...new Set([reason(error), ...complaints])].filter((line) => line !== '').slice(0, 3);
  return `The model ${modelPath} cannot be loaded: ${details.join('; ')}.`;
}

/** The library is an optional peer, and its binaries are packages of their own. */
export function missingLibrary(why: string): string {
  const { platform, arch } = process;
  const names: Record<string, string> = { darwin: 'mac', win32: 'win' };
  const binary = `@node-llama-cpp/${names[platform] ?? platform}-${arch === 'arm' ? 'armv7l' : arch}${
    platform === 'darwin' && arch === 'arm64' ? '-metal' : ''
  }`;
  return (
    `The embedded engine cannot be loaded (${why}). It needs two packages that Offpeak does not bring along: ` +
    `npm install --omit=optional node-llama-cpp ${binary}`
  );
}

function reason(error: unknown): string {
  const message = error instanceof Error ? error.message : String(error);
  return message.split('\n')[0]!.replace(/[.\s]+$/, '');
}

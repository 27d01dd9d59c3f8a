import { stat } from 'node:fs/promises';
import type { Llama, LlamaContext, LlamaModel } from 'node-llama-cpp';
import type { Clock } from '../../../../base/clock.ts';
import { StartError } from '../../../../base/start-error.ts';
import { sum } from '../../../../base/sum.ts';
import type { CardChoice } from '../../../../core/card.ts';
import { readModel } from '../../files/read-model.ts';
import { readShape } from '../../gguf/shape.ts';
import {
  type Library,
  type StartLibrary,
  type StartedLibrary,
  startLibrary,
} from '../../gpu/start-library.ts';
import type { CardOptions, CardUse, LoadOptions } from '../../protocol.ts';
import { batchSize } from '../scheduling/batch-gate.ts';
import { processorSentence } from '../../gpu/find-cards.ts';
import { layerCount } from './card-memory.ts';
import { cardMemory, cardNote } from './card-note.ts';
import { type ContextPlan, planContext } from './memory.ts';
import { chooseThreads, measureSpeed, threadCandidates } from './threads.ts';

export type { Library } from '../../gpu/start-library.ts';

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
  /** Layers on graphics cards. */
  card?: CardUse | undefined;
  /** Sentence about a card that is not used, or not for all wanted layers. */
  note: string | null;
}

/** Clock, and values that tests replace. */
export interface LoadDeps {
  clock: Clock;
  /** Size in bytes at which several numbers of threads are measured. */
  calibrateFrom?: number;
  cores?: number;
  /** Looks for graphics cards; only for options that want one. */
  findCards?: (options: CardOptions) => Promise<CardChoice>;
  start?: StartLibrary;
}

/** Models below this size lose more to synchronization than they gain from threads. */
const smallModelBytes = 300 * 1024 ** 2;
/** For all measurements; a slow model takes a token longer. */
const calibrationMs = 1_000;

/** Loads library, model and context. @throws StartError with what to do */
export async function loadModel(options: LoadOptions, deps: LoadDeps): Promise<Loaded> {
  const { modelPath } = options;
  const { headers, bytes: fileBytes } = await readModel(modelPath, { stat });
  const shape = readShape(headers, fileBytes);
  const choice = await cardChoice(options, deps);
  const plan = planContext(shape, options, process.availableMemory(), cardMemory(choice, options.card));
  if (plan.misfit !== null) throw new StartError(plan.misfit);
  const { layers, cards } = plan.placement;
  const complaints: string[] = [];
  const started = await startLlama({
    start: deps.start ?? startLibrary,
    kind: layers > 0 ? choice.found!.kind : null,
    folder: options.card?.folder ?? '',
    complain: (line) => complaints.push(line),
  });
  const parts = { ...deps, ...started, plan, fileBytes };
  const loaded = { ...started, fileBytes, cacheBytes: plan.cacheBytes };
  try {
    const use = await openModel(options, { ...parts, layers, isOnCard: layers === layerCount(shape) });
    const { kind, cards: found } = choice.found ?? { kind: null, cards: [] };
    const card = kind !== null &&
      layers > 0 && {
        kind,
        names: found.map(({ name }) => name),
        layers,
        of: layerCount(shape),
        bytes: sum(cards),
      };
    const note = cardNote(choice, plan, layerCount(shape), options.card);
    return { ...loaded, ...use, card: card || undefined, note };
  } catch (error) {
    if (layers === 0) throw new StartError(loadFailure(modelPath, error, complaints), { cause: error });
    // Another program took the memory of the card since it was examined.
    const why = complaints.find((line) => line !== '') ?? reason(error);
    const use = await openModel(options, { ...parts, layers: 0, isOnCard: false }).catch((fault: unknown) => {
      throw new StartError(loadFailure(modelPath, fault, complaints), { cause: fault });
    });
    return { ...loaded, ...use, note: processorSentence(`the card could not hold its part: ${why}`) };
  }
}

async function cardChoice({ card }: LoadOptions, { findCards }: LoadDeps): Promise<CardChoice> {
  return card && findCards ? findCards(card) : { found: null, why: null };
}

interface OpenParts extends LoadDeps, StartedLibrary {
  plan: ContextPlan;
  fileBytes: number;
  layers: number;
  /** True if all layers are on cards. */
  isOnCard: boolean;
}

async function openModel(
  options: LoadOptions,
  { llama, plan, layers, isOnCard, cores = llama.cpuMathCores, ...parts }: OpenParts,
): Promise<Pick<Loaded, 'model' | 'context' | 'contextLength' | 'threads'>> {
  const { modelPath, sequences, flashAttention } = options;
  // Memory was checked before; the estimate of the library also counts mapped pages that can be dropped.
  const model = await llama.loadModel({ modelPath, gpuLayers: layers, ignoreMemorySafetyChecks: true });
  try {
    const threads = await threadsFor(model, options, { ...parts, cores, isOnCard });
    const context = await model.createContext({
      sequences,
      contextSize: plan.contextSize,
      threads,
      batchSize: batchSize(sequences),
      flashAttention,
      failedCreationRemedy: false,
      ignoreMemorySafetyChecks: true,
    });
    return { model, context, contextLength: Math.min(plan.contextSize, context.contextSize), threads };
  } catch (error) {
    await model.dispose();
    throw error;
  }
}

interface StartParts {
  start: StartLibrary;
  kind: Parameters<StartLibrary>[0]['kind'];
  folder: string;
  complain: (line: string) => void;
}

async function startLlama({ start, kind, folder, complain }: StartParts): Promise<StartedLibrary> {
  try {
    return await start({ kind, folder, level: 'error', log: complain });
  } catch (error) {
    throw new StartError(missingLibrary(reason(error)), { cause: error });
  }
}

/** The configured number of threads, or the fastest one by measurement. One suffices where the cards do all the work. */
async function threadsFor(
  model: LlamaModel,
  options: LoadOptions,
  {
    clock,
    cores,
    fileBytes,
    calibrateFrom,
    isOnCard,
  }: LoadDeps & { cores: number; fileBytes: number; isOnCard: boolean },
): Promise<number> {
  if (options.threads !== 'auto') return options.threads;
  if (isOnCard) return 1;
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

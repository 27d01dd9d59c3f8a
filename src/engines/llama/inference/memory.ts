import { StartError } from '../../../base/start-error.ts';

/** What a model's file says about its size. */
export interface ModelShape {
  layers: number;
  /** Numbers of one key and one value, over all heads that have their own. */
  keyWidth: number;
  valueWidth: number;
  trainedContext: number;
  fileBytes: number;
}

export interface ContextPlan {
  /** Tokens of each sequence. */
  contextSize: number;
  cacheBytes: number;
}

/** Tokens of context a model gets when the configuration leaves it open. */
const usualContext = 4096;
const smallestContext = 512;
/** Bytes of a number in llama.cpp's key-value cache. */
const bytesPerNumber = 2;
/** For the compute buffers, the vocabulary and Node itself. */
const overheadBytes = 128 * 1024 ** 2;

/**
 * Chooses the context size and makes sure that file and caches fit into `freeBytes`. An `auto` size shrinks until
 * they do; a fixed one is refused with what would fit, as a `StartError`.
 */
export function planContext(
  shape: ModelShape,
  wanted: { contextSize: number | 'auto'; sequences: number },
  freeBytes: number,
): ContextPlan {
  const perToken = shape.layers * (shape.keyWidth + shape.valueWidth) * bytesPerNumber;
  const room = freeBytes - shape.fileBytes - overheadBytes;
  const fitting = Math.floor(room / (perToken * wanted.sequences));
  const auto = Math.min(shape.trainedContext, usualContext);
  const isAuto = wanted.contextSize === 'auto';
  const contextSize =
    wanted.contextSize === 'auto' ? Math.min(auto, Math.max(fitting, smallestContext)) : wanted.contextSize;
  const cacheBytes = perToken * wanted.sequences * contextSize;
  if (contextSize <= fitting) return { contextSize, cacheBytes };
  const need =
    `The model needs ${megabytes(shape.fileBytes)} and ${wanted.sequences} sequences of ${contextSize} tokens need ` +
    `${megabytes(cacheBytes)} more, but only ${megabytes(freeBytes)} of memory are free.`;
  throw new StartError(`${need} ${advice(fitting, Math.floor(room / (perToken * contextSize)), isAuto)}`);
}

function advice(context: number, sequences: number, isAuto: boolean): string {
  const options: string[] = [];
  if (sequences >= 1) options.push(`sequences: ${sequences}`);
  if (context >= smallestContext && !isAuto) options.push(`context: ${context}`);
  return options.length > 0 ? `This would fit: ${options.join(', or ')}.` : 'Take a smaller model.';
}

function megabytes(bytes: number): string {
  return `${Math.ceil(bytes / 1024 ** 2)} MB`;
}

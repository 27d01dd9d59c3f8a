import { sum } from '../../../base/sum.ts';
import type { GgufHeader, GgufTensor, MetadataValue } from './header.ts';
import { tensorBytes } from './types.ts';

/** Dimensions of a model that determine its memory. */
export interface ModelShape {
  layers: number;
  /** Numbers in one key and one value, over all key-value heads. */
  keyWidth: number;
  valueWidth: number;
  /** Numbers in the vector of a token. */
  width: number;
  /** Numbers per token inside the feed-forward network. */
  innerWidth: number;
  /** Attention heads. */
  heads: number;
  vocabulary: number;
  trainedContext: number;
  /** Size of all files. */
  fileBytes: number;
  weights: WeightSizes;
}

/** Bytes of the weights that can be on a graphics card. */
export interface WeightSizes {
  /** Bytes of each layer, from the first on. */
  layers: number[];
  output: number;
  /** True if the output uses the weights of the vocabulary, of which a card gets a copy. */
  isOutputShared: boolean;
  /** Bytes of the largest tensor. */
  largest: number;
}

/** @param headers of all files of the model; the first has the metadata */
export function readShape(headers: readonly GgufHeader[], fileBytes: number): ModelShape {
  const metadata = headers[0]?.metadata ?? new Map<string, MetadataValue>();
  const own = countReader(metadata);
  const width = own('embedding_length') ?? 0;
  const heads = Math.max(1, own('attention.head_count') ?? 1);
  const keyHeads = own('attention.head_count_kv') ?? heads;
  return {
    layers: own('block_count') ?? 0,
    keyWidth: keyHeads * (own('attention.key_length') ?? width / heads),
    valueWidth: keyHeads * (own('attention.value_length') ?? width / heads),
    width,
    innerWidth: own('feed_forward_length') ?? 4 * width,
    heads,
    vocabulary: vocabularySize(metadata) ?? 0,
    trainedContext: own('context_length') ?? Infinity,
    fileBytes,
    weights: weightSizes(
      headers.flatMap(({ tensors }) => tensors),
      own('block_count') ?? 0,
    ),
  };
}

function weightSizes(tensors: readonly GgufTensor[], layers: number): WeightSizes {
  const sizes = tensors.map((tensor) => ({ name: tensor.name, bytes: sizeOf(tensor) }));
  const bytesOf = (belongs: (name: string) => boolean): number =>
    sum(sizes.filter(({ name }) => belongs(name)).map(({ bytes }) => bytes));
  const byLayer = new Map<string, number>();
  for (const { name, bytes } of sizes) {
    const [layer] = /^blk\.\d+(?=\.)/.exec(name) ?? [''];
    byLayer.set(layer, (byLayer.get(layer) ?? 0) + bytes);
  }
  const isOutputShared = !sizes.some(({ name }) => name === 'output.weight');
  return {
    layers: Array.from({ length: layers }, (_, index) => byLayer.get(`blk.${index}`) ?? 0),
    output: bytesOf((name) => name.startsWith('output') || (isOutputShared && name === 'token_embd.weight')),
    isOutputShared,
    largest: sizes.reduce((most, { bytes }) => Math.max(most, bytes), 0),
  };
}

/** A byte for each number of an unknown type, which is more than a quantized number needs. */
function sizeOf({ type, elements }: GgufTensor): number {
  return tensorBytes(type, elements) ?? elements;
}

/** Reads counts by the keys of the architecture; the largest where each layer has its own. */
export function countReader(metadata: ReadonlyMap<string, MetadataValue>): (key: string) => number | null {
  const architecture = metadata.get('general.architecture');
  return (key) => (typeof architecture === 'string' ? countOf(metadata.get(`${architecture}.${key}`)) : null);
}

export function vocabularySize(metadata: ReadonlyMap<string, MetadataValue>): number | null {
  const tokens = metadata.get('tokenizer.ggml.tokens');
  return typeof tokens === 'object' ? tokens.length : countReader(metadata)('vocab_size');
}

function countOf(value: MetadataValue | undefined): number | null {
  if (typeof value === 'number') return Number.isSafeInteger(value) && value >= 0 ? value : null;
  if (typeof value !== 'object' || value.items === null) return null;
  return countOf(Math.max(0, ...value.items));
}

import type { GgufHeader, MetadataValue } from './header.ts';

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
  };
}

/** Reads counts by the keys of the architecture; the largest where each layer has its own. */
export function countReader(metadata: ReadonlyMap<string, MetadataValue>): (key: string) => number | null {
  const architecture = metadata.get('general.architecture');
  return (key) => (typeof architecture === 'string' ? countOf(metadata.get(`${architecture}.${key}`)) : null);
}

/** Number of tokens in the vocabulary. */
export function vocabularySize(metadata: ReadonlyMap<string, MetadataValue>): number | null {
  const tokens = metadata.get('tokenizer.ggml.tokens');
  return typeof tokens === 'object' ? tokens.length : countReader(metadata)('vocab_size');
}

function countOf(value: MetadataValue | undefined): number | null {
  if (typeof value === 'number') return Number.isSafeInteger(value) && value >= 0 ? value : null;
  if (typeof value !== 'object' || value.items === null) return null;
  return countOf(Math.max(0, ...value.items));
}

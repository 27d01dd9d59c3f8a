import type { GgufHeader, MetadataValue } from './header.ts';

/** What the memory a model needs follows from. */
export interface ModelShape {
  layers: number;
  /** Numbers of one key and one value, over all heads that have their own. */
  keyWidth: number;
  valueWidth: number;
  /** Numbers of a token's vector. */
  width: number;
  /** Numbers of a token inside the feed-forward network. */
  innerWidth: number;
  /** Heads that look at what was said before. */
  heads: number;
  vocabulary: number;
  trainedContext: number;
  /** Of all files together. */
  fileBytes: number;
}

/** @param headers of all files of the model; the metadata stand in the first */
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

/** Counts by the keys of the model's own architecture; where each layer has its own, the largest. */
export function countReader(metadata: ReadonlyMap<string, MetadataValue>): (key: string) => number | null {
  const architecture = metadata.get('general.architecture');
  return (key) => (typeof architecture === 'string' ? countOf(metadata.get(`${architecture}.${key}`)) : null);
}

/** Tokens the model knows. */
export function vocabularySize(metadata: ReadonlyMap<string, MetadataValue>): number | null {
  const tokens = metadata.get('tokenizer.ggml.tokens');
  return typeof tokens === 'object' ? tokens.length : countReader(metadata)('vocab_size');
}

function countOf(value: MetadataValue | undefined): number | null {
  if (typeof value === 'number') return Number.isSafeInteger(value) && value >= 0 ? value : null;
  if (typeof value !== 'object' || value.items === null) return null;
  return countOf(Math.max(0, ...value.items));
}

import type { Chunk } from '../../core/batch.ts';
import { type InputIndex, lineRefAt, prefixLevels } from '../../files/input-index.ts';

/** Lowest level of a prefix group: level 0 is 256 bytes, level 2 is 1,024. Shorter prefixes are not grouped. */
const minPrefixLevel = 2;

/**
 * Cuts a batch into chunks of lines that share a prompt prefix (batch-engine.md, "From upload to chunks"). Pure.
 *
 * Lines are sorted by model and prefix hashes, so that nested prefixes become neighbours, and prefixes by their first line:
 * chunks that are claimed together are close in the file, and read together. A chunk ends at a model change, at `size`, or
 * where the shared depth falls. A group that barely exceeds `size` stays whole. Chunks are numbered in stripes (the first of
 * every group, then the second of every group), so that consecutive claims differ in prefix.
 * @param modelOf id of a line's model name; the name itself if unknown
 * @param minSize lines that share no prefix are cut into chunks of at least this size
 */
export function planChunks(
  batchId: string,
  index: InputIndex,
  modelOf: (name: string) => string,
  minSize = 4,
): Chunk[] {
  const models = index.models.map(modelOf);
  const order = sortedLines(index, models);
  const size = Math.min(64, Math.max(minSize, Math.ceil(index.count / 16)));
  const groups = groupLines(index, models, order, size);
  return stripe(groups).map((lines, at) => toChunk(batchId, at + 1, lines, index, models));
}

function sortedLines(index: InputIndex, models: string[]): number[] {
  const rank = new Map([...new Set(models)].toSorted().map((model, at) => [model, at]));
  const modelRank = models.map((model) => rank.get(model) ?? 0);
  const first = firstLines(index);
  const order = Array.from({ length: index.count }, (_, line) => line);
  return order.toSorted((a, b) => {
    const byModel = modelRank[index.model[a]!]! - modelRank[index.model[b]!]!;
    if (byModel !== 0) return byModel;
    for (let level = 0; level < prefixLevels; level++) {
      const difference = first[a * prefixLevels + level]! - first[b * prefixLevels + level]!;
      if (difference !== 0) return difference;
    }
    return a - b;
  });
}

/** First line with the same hash, by line and level; the line itself where its prompt is shorter. */
function firstLines({ count, hashes }: InputIndex): Uint32Array {
  const first = new Uint32Array(count * prefixLevels);
  for (let level = 0; level < prefixLevels; level++) {
    const seen = new Map<number, number>();
    for (let line = 0, at = level; line < count; line++, at += prefixLevels) {
      const hash = hashes[at]!;
      const known = hash === 0 ? line : seen.get(hash);
      first[at] = known ?? line;
      if (known === undefined) seen.set(hash, line);
    }
  }
  return first;
}

/** Number of levels that two lines share; hash 0 (a shorter prompt) shares nothing. */
function sharedDepth(index: InputIndex, a: number, b: number): number {
  let level = 0;
  while (level < prefixLevels) {
    const hash = index.hashes[a * prefixLevels + level];
    if (hash === 0 || hash !== index.hashes[b * prefixLevels + level]) break;
    level++;
  }
  return level;
}

/**
 * Groups the lines of each model: every run with a shared prefix that is long enough for a chunk, and one group of the rest, in
 * file order with short runs at the end.
 */
function groupLines(index: InputIndex, models: string[], order: number[], size: number): number[][][] {
  const groups: number[][][] = [];
  let loners: number[] = [];
  let pairs: number[] = [];
  for (const [at, run] of runsOf(index, models, order)) {
    if (run.length === 1) loners.push(run[0]!);
    else if (run.length < size / 4) pairs.push(...run);
    else groups.push(cut(index, run, size));
    const next = order[at];
    if (next === undefined || models[index.model[next]!] !== models[index.model[run[0]!]!]) {
      const rest = [...loners.toSorted((a, b) => a - b), ...pairs];
      if (rest.length > 0) groups.push(cut(index, rest, size));
      loners = [];
      pairs = [];
    }
  }
  return groups;
}

/** Maximal runs of one model and prefix group, each with the position after it. */
function* runsOf(index: InputIndex, models: string[], order: number[]): Generator<[number, number[]]> {
  let start = 0;
  for (let at = 1; at <= order.length; at++) {
    if (at < order.length && belongTogether(index, models, order[at - 1]!, order[at]!)) continue;
    yield [at, order.slice(start, at)];
    start = at;
  }
}

function belongTogether(index: InputIndex, models: string[], a: number, b: number): boolean {
  return models[index.model[a]!] === models[index.model[b]!] && sharedDepth(index, a, b) > minPrefixLevel;
}

/** Keeps a group of at most min(64, 2 x size) whole; cuts a longer one at `size`, or earlier where the depth falls. */
function cut(index: InputIndex, group: number[], size: number): number[][] {
  if (group.length <= Math.min(64, 2 * size)) return [group];
  const chunks: number[][] = [];
  let chunk: number[] = [];
  let depth = prefixLevels;
  for (const line of group) {
    const last = chunk.at(-1);
    const shared = last === undefined ? prefixLevels : sharedDepth(index, last, line);
    const falls = shared < depth && chunk.length >= size / 4 && chunk.length > 1 && shared > minPrefixLevel;
    if (chunk.length >= size || falls) {
      chunks.push(chunk);
      chunk = [];
      depth = prefixLevels;
    } else if (last !== undefined) depth = Math.min(depth, shared);
    chunk.push(line);
  }
  chunks.push(chunk);
  return chunks;
}

function stripe(groups: number[][][]): number[][] {
  const striped: number[][] = [];
  const longest = Math.max(0, ...groups.map((group) => group.length));
  for (let round = 0; round < longest; round++)
    for (const group of groups) if (group[round]) striped.push(group[round]!);
  return striped;
}

function toChunk(batchId: string, seq: number, lines: number[], index: InputIndex, models: string[]): Chunk {
  const refs = lines.map((line) => lineRefAt(index, line));
  const est = lines.reduce((sum, line) => sum + index.est[line]!, 0);
  return {
    batchId,
    seq,
    model: models[index.model[lines[0]!]!]!,
    prefix: commonPrefix(index, lines),
    lines: refs,
    est,
    epoch: 0,
    kills: 0,
  };
}

/** Deepest hash that all lines share, in hex; '' if it covers less than 1,024 bytes. */
function commonPrefix(index: InputIndex, lines: number[]): string {
  const first = lines[0]!;
  const depth = Math.min(...lines.map((line) => sharedDepth(index, first, line)));
  if (depth <= minPrefixLevel) return '';
  return index.hashes[first * prefixLevels + depth - 1]!.toString(16).padStart(8, '0');
}

import { crc32 } from 'node:zlib';
import type { SplitLine } from '../wire/batch/split.ts';
import type { CheckedLine } from '../wire/batch/line.ts';
import type { ChatRequest } from '../wire/chat/chat.ts';
import type { InputIndex } from './input-index.ts';
import { prefixHashes, prefixLevels } from './prefix-hashes.ts';

/** Embeddings share no prompt. */
const none = new Uint32Array(prefixLevels);

/** Collects the index of an input file, line by line. */
export class IndexBuilder {
  readonly #models = new Map<string, number>();
  readonly #offset: number[] = [];
  readonly #length: number[] = [];
  readonly #sum: number[] = [];
  readonly #model: number[] = [];
  readonly #est: number[] = [];
  readonly #hashes: Uint32Array[] = [];

  add(line: SplitLine, checked: CheckedLine): void {
    const { model } = checked;
    if (!this.#models.has(model)) this.#models.set(model, this.#models.size);
    this.#offset.push(line.offset);
    this.#length.push(line.length);
    this.#sum.push(crc32(line.bytes));
    this.#model.push(this.#models.get(model)!);
    this.#est.push(checked.est);
    this.#hashes.push(checked.prompt ? prefixHashes(checked.prompt.chat as ChatRequest) : none);
  }

  build(): InputIndex {
    const hashes = new Uint32Array(this.#hashes.length * prefixLevels);
    for (const [line, each] of this.#hashes.entries()) hashes.set(each, line * prefixLevels);
    return {
      count: this.#offset.length,
      models: [...this.#models.keys()],
      offset: Float64Array.from(this.#offset),
      length: Uint32Array.from(this.#length),
      sum: Uint32Array.from(this.#sum),
      model: Uint16Array.from(this.#model),
      est: Uint32Array.from(this.#est),
      hashes,
    };
  }
}

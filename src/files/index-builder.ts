import { crc32 } from 'node:zlib';
import type { SplitLine } from '../wire/batch/split.ts';
import type { CheckedLine } from '../wire/batch/line.ts';
import type { ChatRequest } from '../wire/chat/chat.ts';
import type { InputIndex } from './input-index.ts';
import { prefixHashes, prefixLevels } from './prefix-hashes.ts';

/** Builds the index of an input file, line by line. */
export class IndexBuilder {
  readonly #models = new Map<string, number>();
  readonly #offset: number[] = [];
  readonly #length: number[] = [];
  readonly #sum: number[] = [];
  readonly #model: number[] = [];
  readonly #est: number[] = [];
  /** One array that grows: an array per line would cost more to allocate than to fill. */
  #hashes = new Uint32Array(256 * prefixLevels);

  add(
    line: Pick<SplitLine, 'bytes' | 'offset' | 'length'>,
    checked: Pick<CheckedLine, 'model' | 'prompt' | 'est'>,
  ): void {
    const { model, prompt } = checked;
    const at = this.#offset.length * prefixLevels;
    if (at === this.#hashes.length) this.#grow();
    // Direct requests, such as embeddings, have no prompt.
    if (prompt) prefixHashes(prompt.chat as ChatRequest, this.#hashes, at);
    if (!this.#models.has(model)) this.#models.set(model, this.#models.size);
    this.#offset.push(line.offset);
    this.#length.push(line.length);
    this.#sum.push(crc32(line.bytes));
    this.#model.push(this.#models.get(model)!);
    this.#est.push(checked.est);
  }

  build(): InputIndex {
    return {
      count: this.#offset.length,
      models: [...this.#models.keys()],
      offset: Float64Array.from(this.#offset),
      length: Uint32Array.from(this.#length),
      sum: Uint32Array.from(this.#sum),
      model: Uint16Array.from(this.#model),
      est: Uint32Array.from(this.#est),
      hashes: this.#hashes.slice(0, this.#offset.length * prefixLevels),
    };
  }

  #grow(): void {
    const grown = new Uint32Array(this.#hashes.length * 2);
    grown.set(this.#hashes);
    this.#hashes = grown;
  }
}

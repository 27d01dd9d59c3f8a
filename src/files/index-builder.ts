import type { SplitLine } from '../wire/batch/split.ts';
import type { CheckedLine } from '../wire/batch/line.ts';
import type { InputIndex } from './input-index.ts';

/** Collects the index of an input file, line by line. */
export class IndexBuilder {
  readonly #models = new Map<string, number>();
  readonly #offset: number[] = [];
  readonly #length: number[] = [];
  readonly #model: number[] = [];
  readonly #est: number[] = [];
  readonly #hashes: number[] = [];

  add(line: SplitLine, checked: CheckedLine): void {
    const { model } = checked;
    if (!this.#models.has(model)) this.#models.set(model, this.#models.size);
    this.#offset.push(line.offset);
    this.#length.push(line.length);
    this.#model.push(this.#models.get(model)!);
    this.#est.push(checked.est);
    for (const hash of checked.hashes) this.#hashes.push(hash);
  }

  build(): InputIndex {
    return {
      count: this.#offset.length,
      models: [...this.#models.keys()],
      offset: Float64Array.from(this.#offset),
      length: Uint32Array.from(this.#length),
      model: Uint16Array.from(this.#model),
      est: Uint32Array.from(this.#est),
      hashes: Uint32Array.from(this.#hashes),
    };
  }
}

import type { UsageColumns, UsageRow, UsageRows, UsageSum } from './usage-report.ts';

export const figureNames = [
  'requests',
  'inputTokens',
  'cachedTokens',
  'cacheWriteTokens',
  'outputTokens',
  'reasoningTokens',
] as const satisfies (keyof UsageSum)[];
const width = figureNames.length;

/** Key of a group: its values, separated by NUL, which no value contains. Keys have the order of the lists of their values. */
export function groupKey(values: readonly string[]): string {
  return values.join('\0');
}

/** Rows that are added in one step: some tenths of a millisecond. */
const stepRows = 500;

/** Adds up columns by group. */
export class UsageSums {
  readonly #places = new Map<string, number>();
  #figures = new Float64Array(16 * width);
  #amounts = new BigInt64Array(16);
  readonly #total = new Float64Array(width);
  #totalAmount = 0n;

  get size(): number {
    return this.#places.size;
  }

  /** Sum of all columns that were added, including those that `isWanted` left out. */
  get total(): UsageSum {
    return sumOf(this.#total, 0, this.#totalAmount);
  }

  /** Keys in the order in which they were added, from the `from`th on. */
  keys(from = 0): string[] {
    return [...this.#places.keys()].slice(from);
  }

  /** Adds columns in steps. @param isWanted false for a key leaves its group out */
  *add({ keys, figures, amounts }: UsageColumns, isWanted: (key: string) => boolean): Generator<undefined> {
    for (const [n, key] of keys.entries()) {
      if (n > 0 && n % stepRows === 0) yield;
      addFigures(this.#total, 0, figures, n);
      this.#totalAmount += amounts[n]!;
      if (!isWanted(key)) continue;
      const place = this.#place(key);
      addFigures(this.#figures, place, figures, n);
      this.#amounts[place]! += amounts[n]!;
    }
  }

  addRow(key: string, figures: Omit<UsageSum, 'amount'>, amount: bigint): void {
    const place = this.#place(key);
    for (let n = 0; n < width; n++) this.#figures[place * width + n]! += figures[figureNames[n]!];
    this.#amounts[place]! += amount;
  }

  /** All groups. */
  columns(): UsageColumns {
    const keys = this.keys();
    const figures = this.#figures.slice(0, keys.length * width);
    return { keys, figures, amounts: this.#amounts.slice(0, keys.length) };
  }

  /** Rows of these keys, all of which were added. */
  rows(keys: readonly string[]): UsageRows {
    const rowOf = (key: string): UsageRow => {
      const place = this.#places.get(key)!;
      return { groupValues: key.split('\0'), ...sumOf(this.#figures, place, this.#amounts[place]!) };
    };
    return {
      length: keys.length,
      slice: (start, end) => keys.slice(start, end).map(rowOf),
      *[Symbol.iterator]() {
        for (const key of keys) yield rowOf(key);
      },
    };
  }

  #place(key: string): number {
    const known = this.#places.get(key);
    if (known !== undefined) return known;
    const place = this.#places.size;
    this.#places.set(key, place);
    if (place < this.#amounts.length) return place;
    const [figures, amounts] = [this.#figures, this.#amounts];
    this.#figures = new Float64Array(2 * figures.length);
    this.#figures.set(figures);
    this.#amounts = new BigInt64Array(2 * amounts.length);
    this.#amounts.set(amounts);
    return place;
  }
}

function addFigures(to: Float64Array, place: number, from: Float64Array, row: number): void {
  for (let n = 0; n < width; n++) to[place * width + n]! += from[row * width + n]!;
}

function sumOf(figures: Float64Array, place: number, amount: bigint): UsageSum {
  const [requests, inputTokens, cachedTokens, cacheWriteTokens, outputTokens, reasoningTokens] =
    figures.subarray(place * width, (place + 1) * width) as unknown as [
      number,
      number,
      number,
      number,
      number,
      number,
    ];
  return { requests, inputTokens, cachedTokens, cacheWriteTokens, outputTokens, reasoningTokens, amount };
}

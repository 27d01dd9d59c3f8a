import { createHash } from 'node:crypto';

const kept = 120;

/** History of a world: hashes all of it and keeps the last lines for the report. Recording slows a run down. */
export class Trace {
  readonly isEnabled: boolean;
  #hash = createHash('sha256');
  #tail: string[] = [];
  #elapsed: () => number;
  lines = 0;

  constructor(elapsed: () => number, isEnabled: boolean) {
    this.#elapsed = elapsed;
    this.isEnabled = isEnabled;
  }

  add(who: string, what: string): void {
    if (!this.isEnabled) return;
    const line = `${this.#elapsed()} ${who} ${what}`;
    this.#hash.update(line);
    this.#tail[this.lines++ % kept] = line;
  }

  /** Hash so far. */
  digest(): string {
    return this.#hash.copy().digest('hex').slice(0, 16);
  }

  tail(): string[] {
    const from = this.lines % kept;
    return [...this.#tail.slice(from), ...this.#tail.slice(0, from)].filter((line) => line !== undefined);
  }
}

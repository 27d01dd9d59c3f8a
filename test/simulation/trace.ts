import { createHash } from 'node:crypto';

const kept = 120;

/** What happened, in order: hashed as a whole, its last lines kept for whoever must read them. Telling takes its time. */
export class Trace {
  readonly told: boolean;
  #hash = createHash('sha256');
  #tail: string[] = [];
  #elapsed: () => number;
  lines = 0;

  constructor(elapsed: () => number, told: boolean) {
    this.#elapsed = elapsed;
    this.told = told;
  }

  add(who: string, what: string): void {
    if (!this.told) return;
    const line = `${this.#elapsed()} ${who} ${what}`;
    this.#hash.update(line);
    this.#tail[this.lines++ % kept] = line;
  }

  /** The hash so far. */
  digest(): string {
    return this.#hash.copy().digest('hex').slice(0, 16);
  }

  tail(): string[] {
    const from = this.lines % kept;
    return [...this.#tail.slice(from), ...this.#tail.slice(0, from)].filter((line) => line !== undefined);
  }
}

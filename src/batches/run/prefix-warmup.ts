import type { Clock } from '../../base/clock.ts';

/** Longest time that a line waits for the first answer to its prefix. */
const maxWaitMs = 2_000;
/** Prefixes remembered per model. */
const maxPrefixes = 4_096;

interface Leader {
  since: number;
  warm: boolean;
}

/**
 * Warms up the engine's prompt cache (batch-engine.md, "Running"): one line of a new prefix goes ahead as the leader, and the
 * others follow after its answer. Only advice: a process without other work sends them anyway.
 */
export class PrefixWarmup {
  #clock: Clock;
  /** By model and prefix: a look-up for each chunk of each line must be fast. */
  #leaders = new Map<string, Map<string, Leader>>();
  /** Number of leaders without an answer; usually 0. */
  #cold = 0;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  shouldWait(model: string, prefix: string): boolean {
    if (prefix === '' || this.#cold === 0) return false;
    const leader = this.#leaders.get(model)?.get(prefix);
    return leader !== undefined && !leader.warm && this.#clock.monotonic() - leader.since < maxWaitMs;
  }

  sent(model: string, prefix: string): void {
    if (prefix === '') return;
    const ofModel = this.#leaders.get(model) ?? new Map<string, Leader>();
    if (ofModel.has(prefix)) return;
    this.#leaders.set(model, ofModel);
    ofModel.set(prefix, { since: this.#clock.monotonic(), warm: false });
    this.#cold++;
    if (ofModel.size > maxPrefixes) this.#forget(ofModel, ofModel.keys().next().value!);
  }

  answered(model: string, prefix: string): void {
    const leader = this.#leaders.get(model)?.get(prefix);
    if (!leader || leader.warm) return;
    leader.warm = true;
    this.#cold--;
  }

  /** Drops a failed leader; the next line leads. */
  failed(model: string, prefix: string): void {
    const ofModel = this.#leaders.get(model);
    if (ofModel?.get(prefix)?.warm === false) this.#forget(ofModel, prefix);
  }

  #forget(ofModel: Map<string, Leader>, prefix: string): void {
    if (ofModel.get(prefix)?.warm === false) this.#cold--;
    ofModel.delete(prefix);
  }
}

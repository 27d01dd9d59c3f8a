import type { Clock } from '../../base/clock.ts';

/** A follower waits at most this long for its leader's first answer. */
const leaderMs = 2_000;
/** Of a model. */
const remembered = 4_096;

interface Leader {
  since: number;
  warm: boolean;
}

/**
 * Leader first (batch-engine.md, "Running"): of a prefix nobody answered yet, one line goes ahead and fills the engine's
 * cache; the others follow when it is there. Only advice: whoever has nothing else to do sends anyway.
 */
export class PrefixWarmup {
  #clock: Clock;
  /** By model and prefix: they are asked for all chunks in hand at each line. */
  #leaders = new Map<string, Map<string, Leader>>();
  /** How many of them nobody has answered: none, mostly. */
  #cold = 0;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Whether a line with this prefix should wait. */
  shouldWait(model: string, prefix: string): boolean {
    if (prefix === '' || this.#cold === 0) return false;
    const leader = this.#leaders.get(model)?.get(prefix);
    return leader !== undefined && !leader.warm && this.#clock.monotonic() - leader.since < leaderMs;
  }

  sent(model: string, prefix: string): void {
    if (prefix === '') return;
    const ofModel = this.#leaders.get(model) ?? new Map<string, Leader>();
    if (ofModel.has(prefix)) return;
    this.#leaders.set(model, ofModel);
    ofModel.set(prefix, { since: this.#clock.monotonic(), warm: false });
    this.#cold++;
    if (ofModel.size > remembered) this.#forget(ofModel, ofModel.keys().next().value!);
  }

  answered(model: string, prefix: string): void {
    const leader = this.#leaders.get(model)?.get(prefix);
    if (!leader || leader.warm) return;
    leader.warm = true;
    this.#cold--;
  }

  /** The leader failed: the next line leads. */
  failed(model: string, prefix: string): void {
    const ofModel = this.#leaders.get(model);
    if (ofModel?.get(prefix)?.warm === false) this.#forget(ofModel, prefix);
  }

  #forget(ofModel: Map<string, Leader>, prefix: string): void {
    if (ofModel.get(prefix)?.warm === false) this.#cold--;
    ofModel.delete(prefix);
  }
}

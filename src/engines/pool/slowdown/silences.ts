/** Holds to choose from, in milliseconds. */
const holds = [500, 1_000, 2_000, 4_000, 8_000] as const;
/** Silences that count. */
const memory = 16;
/** Cost of a line's lost work relative to that of an empty place: interactive requests are slower for a moment, too. */
const lossFactor = 2;

/**
 * Silences between interactive requests, and how long lines should stay away in the next one: those that return too soon lose
 * their work when they give way again, and those that return too late leave the server idle.
 */
export class Silences {
  #recent: number[] = [];

  /** @param ms time without interactive requests. Shorter ones than any hold say nothing */
  add(ms: number): void {
    if (ms <= holds[0]) return;
    this.#recent.push(ms);
    if (this.#recent.length > memory) this.#recent.shift();
  }

  /** Time to wait in a silence that costs least, judged by recent silences. @param lineMs mean time of a line */
  holdMs(lineMs: number): number {
    // Without recent silences, this one is expected to last about as long as a line.
    const expected = [lineMs, ...this.#recent];
    let best: { hold: number; cost: number } | undefined;
    for (const hold of holds) {
      const cost = expected.reduce((sum, ms) => sum + costOf(ms, hold, lineMs), 0);
      if (!best || cost <= best.cost) best = { hold, cost };
    }
    return best!.hold;
  }
}

/** Line time lost in a silence, for each place that lines leave. */
function costOf(silenceMs: number, hold: number, lineMs: number): number {
  if (silenceMs <= hold) return silenceMs;
  return hold + lossFactor * Math.min(silenceMs - hold, lineMs / 2);
}

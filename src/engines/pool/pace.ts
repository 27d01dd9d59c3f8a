/** Replica whose speed is compared with that of the others. */
export interface Paced {
  /** Recent milliseconds per unit of work; 0 while unknown. */
  readonly pace: number;
  slowness: number;
}

/** Weight of the newest answer in the average pace. */
const newestWeight = 0.1;

/** Average pace after an answer. */
export function averagePace(before: number, newest: number): number {
  return before === 0 ? newest : before + (newest - before) * newestWeight;
}

/** Updates how slow each replica is relative to the median. */
export function comparePaces(replicas: readonly Paced[]): void {
  if (replicas.length < 2) return;
  const paces = replicas.map(({ pace }) => pace).filter((pace) => pace > 0);
  const median = paces.toSorted((a, b) => a - b)[Math.floor(paces.length / 2)];
  if (median !== undefined) for (const replica of replicas) replica.slowness = replica.pace / median;
}

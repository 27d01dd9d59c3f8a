import { median } from './report.ts';

/** What was measured of each, one round after the other. */
export interface Rounds<Name extends string, Result> {
  /** The median over the rounds of what `figure` makes of one: ratios are taken inside a round. */
  median: (figure: (round: Record<Name, Result>) => number) => number;
}

/**
 * Measures each of `names` in every round. Whoever goes first finds another machine than who goes last, so that every
 * other round goes backwards.
 */
export async function measureRounds<Name extends string, Result>(
  names: readonly Name[],
  count: number,
  measure: (name: Name) => Promise<Result>,
): Promise<Rounds<Name, Result>> {
  const rounds: Record<Name, Result>[] = [];
  for (let n = 0; n < count; n++) {
    const round = {} as Record<Name, Result>;
    for (const name of n % 2 === 0 ? names : names.toReversed()) round[name] = await measure(name);
    rounds.push(round);
  }
  return { median: (figure) => median(rounds.map(figure)) };
}

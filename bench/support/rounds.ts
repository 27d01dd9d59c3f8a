import { median } from './report.ts';

/** Results by name, one record per round. */
export interface Rounds<Name extends string, Result> {
  /** Returns the median of a figure over the rounds; ratios are thus taken within a round. */
  median: (figure: (round: Record<Name, Result>) => number) => number;
}

/**
 * Measures all `names` in every round. Every other round runs in reverse order, because the position within a round
 * affects the result.
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

/**
 * Advance of orgs with late work, the same for claims and for the lines of a process: an org whose batch may miss its window goes before
 * its turn. Two bounds keep it from starving the others: each org has a credit, and all late work of a model together goes ahead for no
 * more tokens than are given in turn, so that the other orgs together get their share, or half of all tokens.
 */

/** Estimated tokens, divided by its weight, by which an org may run ahead of its turn. They are charged, so it gets the advance once. */
const lateCredit = 1_000_000;

/** Org that could be next, with its virtual time. */
export interface Turn {
  start: number;
}

/**
 * True if the first org with late work goes before the first org of all, or is that org.
 * @param late undefined if no work is late
 * @param owed tokens that went ahead of turn and were not given in turn since
 */
export function goesAhead<T extends Turn>(first: T, late: T | undefined, owed: number): late is T {
  return late !== undefined && (late === first || (owed <= 0 && late.start - lateCredit < first.start));
}

/** Tokens owed to the orgs in turn after a chunk of `est` tokens was given. Turns earn no credit for later late work. */
export function owedAfter(owed: number, est: number, isAhead: boolean): number {
  return isAhead ? owed + est : Math.max(0, owed - est);
}

import { type Alternative, type CharElement, type Element, type Grammar, isChar } from './grammar.ts';

/** Grammar whose rules are all finite, with the shortest text of each rule. */
export interface Analysed {
  readonly grammar: Grammar;
  /** UTF-8 bytes of the shortest text of each rule. */
  readonly costs: readonly number[];
  /** Alternative of that text, for each rule. */
  readonly best: readonly Alternative[];
}

/** No text satisfies the grammar, or only endless ones do. */
export class UnsatisfiableGrammar extends Error {}

/**
 * Finds the shortest text of every rule and drops infinite alternatives, which could not be closed once sampled. The caller
 * makes sure that no rule begins with itself.
 * @throws UnsatisfiableGrammar
 */
export function analyse(grammar: Grammar): Analysed {
  const { costs, best } = shortestTexts(grammar);
  if (costs[grammar.root] === Infinity) throw new UnsatisfiableGrammar();
  const rules = grammar.rules.map((alternatives) =>
    alternatives.filter((alternative) =>
      alternative.every((element) => elementCost(element, costs) < Infinity),
    ),
  );
  return { grammar: { rules, root: grammar.root }, costs, best };
}

function shortestTexts(grammar: Grammar): { costs: number[]; best: Alternative[] } {
  const costs = grammar.rules.map(() => Infinity);
  const best: Alternative[] = grammar.rules.map(() => []);
  const usedBy: number[][] = grammar.rules.map(() => []);
  grammar.rules.forEach((alternatives, index) => {
    for (const element of alternatives.flat()) if (!isChar(element)) usedBy[element.rule]!.push(index);
  });
  const queue = new Set(grammar.rules.keys());
  for (const index of queue) {
    queue.delete(index);
    for (const alternative of grammar.rules[index]!) {
      let cost = 0;
      for (const element of alternative) cost += elementCost(element, costs);
      if (cost >= costs[index]!) continue;
      costs[index] = cost;
      best[index] = alternative;
      for (const user of usedBy[index]!) queue.add(user);
    }
  }
  return { costs, best };
}

export function elementCost(element: Element, costs: readonly number[]): number {
  return isChar(element) ? Buffer.byteLength(shortestCharacter(element)) : costs[element.rule]!;
}

const preferred = [0x30, 0x61, 0x41, 0x20];

/** A digit or letter of the class where possible, else its first character. */
export function shortestCharacter(element: CharElement): string {
  const found = preferred.find((each) => element.ranges.some(([low, high]) => each >= low && each <= high));
  return String.fromCodePoint(found ?? element.ranges[0]![0]);
}

import { type Alternative, type CharElement, type Element, type Grammar, isChar } from './grammar.ts';

/** A grammar whose rules all end, with the shortest text each of them can stand for. */
export interface Analysed {
  readonly grammar: Grammar;
  /** UTF-8 bytes of the shortest text of each rule. */
  readonly costs: readonly number[];
  /** The alternative that leads to that text. */
  readonly best: readonly Alternative[];
}

/** No text satisfies the grammar, or only endless ones do. */
export class UnsatisfiableGrammar extends Error {
  constructor() {
    super('No finite text satisfies the grammar.');
    this.name = 'UnsatisfiableGrammar';
  }
}

/** A rule can come back to itself without reading a character, which neither matcher could follow. */
export class LeftRecursiveGrammar extends Error {
  constructor() {
    super('A rule begins with itself.');
    this.name = 'LeftRecursiveGrammar';
  }
}

/**
 * Finds the shortest text of every rule and drops the alternatives that never end: once sampled, they could not be
 * closed. Throws `UnsatisfiableGrammar` or `LeftRecursiveGrammar`.
 */
export function analyse(grammar: Grammar): Analysed {
  const { costs, best } = shortestTexts(grammar);
  if (costs[grammar.root] === Infinity) throw new UnsatisfiableGrammar();
  const rules = grammar.rules.map((alternatives) =>
    alternatives.filter((alternative) =>
      alternative.every((element) => elementCost(element, costs) < Infinity),
    ),
  );
  const finite = { rules, root: grammar.root };
  refuseLeftRecursion(finite, costs);
  return { grammar: finite, costs, best };
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

/** A cheap and harmless character of the class: a digit or a letter where it may be one. */
export function shortestCharacter(element: CharElement): string {
  for (const codePoint of preferred) {
    if (element.ranges.some(([low, high]) => codePoint >= low && codePoint <= high)) {
      return String.fromCodePoint(codePoint);
    }
  }
  return String.fromCodePoint(element.ranges[0]![0]);
}

function refuseLeftRecursion(grammar: Grammar, costs: readonly number[]): void {
  const state = new Uint8Array(grammar.rules.length);
  const visiting = 1;
  const done = 2;
  // Depth first without recursion: chains of repeats are thousands of rules deep.
  const path: { index: number; starts: Iterator<number> }[] = [];
  const enter = (index: number): void => {
    if (state[index] === visiting) throw new LeftRecursiveGrammar();
    if (state[index] === done) return;
    state[index] = visiting;
    path.push({ index, starts: startingRules(grammar, costs, index) });
  };
  for (const index of grammar.rules.keys()) {
    enter(index);
    while (path.length > 0) {
      const top = path.at(-1)!;
      const next = top.starts.next();
      if (!next.done) {
        enter(next.value);
        continue;
      }
      state[top.index] = done;
      path.pop();
    }
  }
}

/** The rules that may be entered before a character of rule `index` was read. */
function* startingRules(
  grammar: Grammar,
  costs: readonly number[],
  index: number,
): Generator<number, undefined> {
  for (const alternative of grammar.rules[index]!) {
    for (const element of alternative) {
      if (isChar(element)) break;
      yield element.rule;
      if (costs[element.rule]! > 0) break;
    }
  }
  return undefined;
}

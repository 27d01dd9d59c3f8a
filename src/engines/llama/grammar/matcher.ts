import { type Analysed, elementCost, shortestCharacter } from './analysis.ts';
import { type Alternative, type Element, isChar } from './grammar.ts';

export type Matcher = ReturnType<typeof createMatcher>;

export interface MatchState {
  /** Possible continuations, as stacks with a character class on top. */
  readonly stacks: readonly Stack[];
  /** True where the text may end. */
  readonly complete: boolean;
}

interface Stack {
  readonly element: Element;
  readonly next: Stack | null;
  /** Bytes of the shortest text of the element and all below it. */
  readonly cost: number;
  /** Stacks with one more element on top. */
  readonly above: Map<Element, Stack>;
}

/** Open readings after which an ambiguous grammar is not followed further. */
const maxStacks = 2_000;

/**
 * Follows a text through a grammar. States are immutable, so the state before a rejected token remains usable. Equal stacks
 * are one object, so ambiguity does not multiply, and a list of a thousand items needs no more memory than one.
 */
export function createMatcher({ grammar, costs, best }: Analysed) {
  const bottom = new Map<Element, Stack>();
  const texts: (string | undefined)[] = [];

  function push(alternative: Alternative, onto: Stack | null): Stack | null {
    let top = onto;
    for (let i = alternative.length - 1; i >= 0; i--) {
      const element = alternative[i]!;
      const above = top === null ? bottom : top.above;
      let stack = above.get(element);
      if (!stack) {
        const cost = (top?.cost ?? 0) + elementCost(element, costs);
        above.set(element, (stack = { element, next: top, cost, above: new Map() }));
      }
      top = stack;
    }
    return top;
  }

  /** Replaces rules on top by their alternatives until every top is a character class. */
  function expand(open: (Stack | null)[]): MatchState {
    const seen = new Set<Stack>();
    const stacks: Stack[] = [];
    let complete = false;
    while (open.length > 0) {
      const stack = open.pop()!;
      if (stack === null) {
        complete = true;
        continue;
      }
      if (seen.has(stack)) continue;
      seen.add(stack);
      if (isChar(stack.element)) stacks.push(stack);
      else
        for (const alternative of grammar.rules[stack.element.rule]!)
          open.push(push(alternative, stack.next));
    }
    return { stacks, complete };
  }

  /** State after `text`, or undefined if the grammar does not allow it. */
  function advance(from: MatchState, text: string): MatchState | undefined {
    let state = from;
    for (const character of text) {
      const codePoint = character.codePointAt(0)!;
      const next: (Stack | null)[] = [];
      for (const stack of state.stacks) if (accepts(stack.element, codePoint)) next.push(stack.next);
      if (next.length === 0) return undefined;
      state = expand(next);
      if (state.stacks.length > maxStacks) return undefined;
    }
    return state;
  }

  function cheapest(state: MatchState): Stack | null {
    if (state.complete) return null;
    return state.stacks.reduce((a, b) => (b.cost < a.cost ? b : a));
  }

  function shortest(element: Element): string {
    if (isChar(element)) return shortestCharacter(element);
    return (texts[element.rule] ??= best[element.rule]!.map(shortest).join(''));
  }

  return {
    start: expand([push([{ rule: grammar.root }], null)]),
    advance,
    /** UTF-8 bytes of the shortest completion. */
    closingBytes: (state: MatchState): number => cheapest(state)?.cost ?? 0,
    /** Shortest completion. */
    closing(state: MatchState): string {
      let text = '';
      for (let stack = cheapest(state); stack !== null; stack = stack.next) text += shortest(stack.element);
      return text;
    },
  };
}

function accepts(element: Element, codePoint: number): boolean {
  return isChar(element) && element.ranges.some(([low, high]) => codePoint >= low && codePoint <= high);
}

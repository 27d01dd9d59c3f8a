import { RE2JS, RE2JSException } from 're2js';

/** A regular language of texts, found state by state. Equal states are one value. */
export interface Automaton {
  readonly start: unknown;
  /** What may follow `codePoint`; undefined is nothing. */
  next(state: unknown, codePoint: number): unknown;
  isEnd(state: unknown): boolean;
  /** Code points at which one class of those that lead to the same states ends and another begins. */
  readonly cuts: readonly number[];
}

/** An automaton that would take too long to find. */
export class AutomatonTooLarge extends Error {}

/** What a search knows once the pattern was found: whatever follows, it stays found. */
const found = Symbol('found');

/** What RE2 knows at a place of a text. */
interface State {
  readonly nfaStates: readonly number[];
  readonly isMatch: boolean;
  /** States found already, by the class of the character that leads there. */
  readonly next: readonly (State | null)[] | null;
}

/** RE2 at the start of a text, and behind its end. */
const beginning = { context: () => 4 };
const end = -1;
const unanchored = 0;

/**
 * The texts in which `pattern` is found somewhere, as JSON Schema means it: the automaton with which RE2 looks for it.
 * @param spend is told how many positions in the pattern are looked at, and may throw when they are too many
 * @throws RE2JSException for what RE2 does not read: looking around, back references
 */
export function searchFor(pattern: string, spend: (positions: number) => void): Automaton {
  const { dfa } = RE2JS.compile(pattern).re2();
  // What follows from a step may be far more than the state it is made from.
  const closure = dfa.closure.bind(dfa);
  dfa.closure = (positions: unknown, flags: unknown) => {
    const closed = closure(positions, flags);
    spend(closed.pcs.length);
    return closed;
  };

  /** RE2 notices a match one character later. */
  function step(state: State, kind: number, codePoint: number): State | typeof found {
    spend(state.next?.[kind] ? 1 : 1 + state.nfaStates.length);
    const next = dfa.step(state, kind, codePoint, unanchored) as State | null;
    if (next === null) throw new AutomatonTooLarge();
    return next.isMatch ? found : next;
  }

  return {
    start: dfa.start(beginning, 0),
    next: (state, codePoint) =>
      state === found ? found : step(state as State, dfa.runeClass(codePoint), codePoint),
    isEnd: (state) => state === found || step(state as State, dfa.numClasses, end) === found,
    cuts: [...dfa.classBounds],
  };
}

/** Positions in patterns that are looked at for one schema, which bounds the time they may cost. */
const maxWork = 2_000_000;

/**
 * Finds the languages of the patterns of one schema, each once; null is for a pattern that RE2 does not read. What it gives throws
 * as `searchFor` does, also when they are too much together.
 */
export function createPatterns(): (pattern: string) => Automaton | null {
  const known = new Map<string, Automaton | null>();
  let work = 0;

  function spend(positions: number): void {
    work += positions;
    if (work > maxWork) throw new AutomatonTooLarge();
  }

  return (pattern) => {
    const before = known.get(pattern);
    if (before !== undefined) return before;
    // Before it is read: where nothing is left, none is.
    spend(pattern.length);
    const language = readable(() => searchFor(pattern, spend));
    known.set(pattern, language);
    return language;
  };
}

function readable(search: () => Automaton): Automaton | null {
  try {
    return search();
  } catch (error) {
    if (error instanceof RE2JSException) return null;
    throw error;
  }
}

/** Texts of `min` to `max` characters; `max` may be Infinity. */
export function ofLength(min: number, max: number): Automaton {
  return {
    start: 0,
    next: (state) => {
      const length = (state as number) + 1;
      if (length > max) return undefined;
      return max === Infinity ? Math.min(length, min) : length;
    },
    isEnd: (state) => (state as number) >= min,
    cuts: [],
  };
}

/** Texts of both. */
export function both(a: Automaton, b: Automaton): Automaton {
  const pairs = new Map<unknown, Map<unknown, readonly [unknown, unknown]>>();

  function pair(left: unknown, right: unknown): unknown {
    if (left === undefined || right === undefined) return undefined;
    let ofLeft = pairs.get(left);
    if (!ofLeft) pairs.set(left, (ofLeft = new Map()));
    let known = ofLeft.get(right);
    if (!known) ofLeft.set(right, (known = [left, right]));
    return known;
  }

  const parts = (state: unknown) => state as readonly [unknown, unknown];
  return {
    start: pair(a.start, b.start),
    next: (state, codePoint) => pair(a.next(parts(state)[0], codePoint), b.next(parts(state)[1], codePoint)),
    isEnd: (state) => a.isEnd(parts(state)[0]) && b.isEnd(parts(state)[1]),
    cuts: [...a.cuts, ...b.cuts],
  };
}

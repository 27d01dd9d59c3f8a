import { RE2JS, RE2JSException } from 're2js';

/** Automaton of a regular language, computed state by state. Equal states are one value. */
export interface Automaton {
  readonly start: unknown;
  /** State after `codePoint`; undefined if there is none. */
  next(state: unknown, codePoint: number): unknown;
  isEnd(state: unknown): boolean;
  /** Code points at which a new class of equivalent code points begins. */
  readonly cuts: readonly number[];
}

/** The automaton would take too long to compute. */
export class AutomatonTooLarge extends Error {}

/** State after a match of the pattern, which any text may follow. */
const found = Symbol('found');

/** State of RE2 at a place of a text. */
interface State {
  readonly nfaStates: readonly number[];
  readonly isMatch: boolean;
  /** Computed next states by character class. */
  readonly next: readonly (State | null)[] | null;
}

/** Context of RE2 at the start of a text, and the code point after its end. */
const beginning = { context: () => 4 };
const end = -1;
const unanchored = 0;

/**
 * Texts that `pattern` matches anywhere, as in JSON Schema.
 * @param spend gets the number of visited positions of the pattern, and may throw if they are too many
 * @throws RE2JSException for look-around and back references
 */
export function searchFor(pattern: string, spend: (positions: number) => void): Automaton {
  const { dfa } = RE2JS.compile(pattern).re2();
  // The closure of a step may be far larger than the state before it.
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

/** Visited positions of all patterns of a schema, which bounds their time. */
const maxWork = 2_000_000;

/** Caches the automata of a schema's patterns; null where RE2 rejects one. Throws `AutomatonTooLarge`, also for their sum. */
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
    spend(pattern.length);
    let language: Automaton | null = null;
    try {
      language = searchFor(pattern, spend);
    } catch (error) {
      if (!(error instanceof RE2JSException)) throw error;
    }
    known.set(pattern, language);
    return language;
  };
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

/** Intersection of two languages. */
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

import type { Alternative, CharRange, Element, GrammarBuilder } from '../grammar.ts';
import { type Automaton, AutomatonTooLarge } from './automaton.ts';
import { intersection, lastCodePoint, normalizeRanges } from './ranges.ts';

/** Characters under a pattern: no controls without short escapes, lone surrogates, or white space that dialects dispute. */
const wanted: CharRange[] = [
  [0x08, 0x0a],
  [0x0c, 0x0c],
  [0x20, 0x7e],
  [0xa1, 0x167f],
  [0x1681, 0x1fff],
  [0x200b, 0x2027],
  [0x202a, 0x202e],
  [0x2030, 0x205e],
  [0x2060, 0x2fff],
  [0x3001, 0xd7ff],
  [0xe000, 0xfefe],
  [0xff00, 0xfffc],
  [0x10000, lastCodePoint],
];

const escapes: Record<number, string> = {
  0x08: '\\b',
  0x09: '\\t',
  0x0a: '\\n',
  0x0c: '\\f',
  0x22: '\\"',
  0x5c: '\\\\',
};

const plain = intersection(wanted, [
  [0x20, 0x21],
  [0x23, 0x5b],
  [0x5d, lastCodePoint],
]);

const maxStates = 4_000;
/** Maximum character classes: llama.cpp searches those of a rule for every character of every token. */
const maxClasses = 300;

/** Rule for the texts of an automaton, as the inside of a JSON string, each in one spelling. @throws AutomatonTooLarge */
export function regularRule(b: GrammarBuilder, automaton: Automaton): Element {
  const states = explore(automaton);
  const living = livingStates(states, automaton);
  if (!living.has(automaton.start)) return b.rule([]);
  const rules = new Map([...living].map((state) => [state, b.declare()]));
  for (const [state, { define }] of rules) {
    const alternatives: Alternative[] = automaton.isEnd(state) ? [[]] : [];
    for (const [next, ranges] of states.get(state)!) {
      const rest = rules.get(next)?.element;
      if (rest) alternatives.push(...characters(b, ranges).map((character) => [...character, rest]));
    }
    define(alternatives);
  }
  return rules.get(automaton.start)!.element;
}

/** Code points by next state, for each state. */
type States = Map<unknown, Map<unknown, CharRange[]>>;

function explore(automaton: Automaton): States {
  const classes = classesOf(automaton);
  const states: States = new Map();
  const open = [automaton.start];
  while (open.length > 0) {
    const state = open.pop();
    if (states.has(state)) continue;
    if (states.size >= maxStates) throw new AutomatonTooLarge();
    const targets = Map.groupBy(classes, ([low]) => automaton.next(state, low));
    targets.delete(undefined);
    states.set(state, targets);
    open.push(...targets.keys());
  }
  return states;
}

/** Wanted code points, split at the cuts of the automaton. */
function classesOf({ cuts }: Automaton): CharRange[] {
  const sorted = [...new Set(cuts)].toSorted((a, b) => a - b);
  const classes = wanted.flatMap(([low, high]) => {
    const inside = sorted.filter((cut) => cut > low && cut <= high);
    return [low, ...inside].map((from, i): CharRange => [from, (inside[i] ?? high + 1) - 1]);
  });
  if (classes.length > maxClasses) throw new AutomatonTooLarge();
  return classes;
}

/** States from which a text can end. */
function livingStates(states: States, automaton: Automaton): Set<unknown> {
  const steps = [...states].flatMap(([from, targets]) => Array.from(targets.keys(), (to) => ({ from, to })));
  const into = Map.groupBy(steps, ({ to }) => to);
  const living = new Set([...states.keys()].filter((state) => automaton.isEnd(state)));
  for (const state of living) for (const { from } of into.get(state) ?? []) living.add(from);
  return living;
}

function characters(b: GrammarBuilder, ranges: readonly CharRange[]): Alternative[] {
  const alternatives: Alternative[] = [];
  const bare = normalizeRanges(intersection(ranges, plain));
  if (bare.length > 0) alternatives.push([b.chars(...bare)]);
  for (const [codePoint, text] of Object.entries(escapes)) {
    if (ranges.some(([low, high]) => Number(codePoint) >= low && Number(codePoint) <= high)) {
      alternatives.push(b.literal(text));
    }
  }
  return alternatives;
}

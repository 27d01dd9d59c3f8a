import type { Alternative, CharRange, Element, GrammarBuilder } from '../grammar.ts';
import { intersection, lastCodePoint, tidy } from './ranges.ts';
import { type Regex, RegexTooLarge, type Regexes } from './regex.ts';

/**
 * What a string confined by a pattern may hold: no controls but those with a short escape, no lone surrogates, and
 * none of the white space about which the dialects of patterns disagree.
 */
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

/**
 * The rule of the texts of `language`, written as the inside of a JSON string: each text in one spelling. Throws
 * `RegexTooLarge`.
 */
export function regularRule(b: GrammarBuilder, regexes: Regexes, language: Regex): Element {
  const states = explore(regexes, language);
  const living = livingStates(states);
  if (!living.has(language)) return b.rule([]);
  const rules = new Map([...living].map((state) => [state, b.declare()]));
  for (const [state, { element: _, define }] of rules) {
    const alternatives: Alternative[] = state.isNullable ? [[]] : [];
    for (const [next, ranges] of states.get(state)!) {
      const rest = rules.get(next)?.element;
      if (rest) alternatives.push(...characters(b, ranges).map((character) => [...character, rest]));
    }
    define(alternatives);
  }
  return rules.get(language)!.element;
}

type States = Map<Regex, Map<Regex, CharRange[]>>;

/** The automaton: for each state, which code points lead to which. */
function explore(regexes: Regexes, language: Regex): States {
  const atoms = atomsOf(language);
  const states: States = new Map();
  const open = [language];
  for (let state = open.pop(); state; state = open.pop()) {
    if (states.has(state)) continue;
    if (states.size >= maxStates) throw new RegexTooLarge();
    const targets = new Map<Regex, CharRange[]>();
    for (const atom of atoms) {
      const next = regexes.derive(state, atom[0]);
      if (next === regexes.nothing) continue;
      const ranges = targets.get(next);
      if (ranges) ranges.push(atom);
      else targets.set(next, [atom]);
    }
    states.set(state, targets);
    open.push(...targets.keys());
  }
  return states;
}

/** The wanted code points, cut where any class of the expression begins or ends. */
function atomsOf(language: Regex): CharRange[] {
  const cuts = new Set<number>();
  const seen = new Set<Regex>();
  const open = [language];
  for (let node = open.pop(); node; node = open.pop()) {
    if (seen.has(node)) continue;
    seen.add(node);
    if (node.kind === 'chars') for (const [low, high] of node.ranges) cuts.add(low).add(high + 1);
    else if (node.kind === 'concat') open.push(node.first, node.rest);
    else if (node.kind === 'any' || node.kind === 'all') open.push(...node.of);
    else if (node.kind === 'not' || node.kind === 'repeat') open.push(node.of);
  }
  const sorted = [...cuts].toSorted((a, b) => a - b);
  return wanted.flatMap(([low, high]) => {
    const inside = sorted.filter((cut) => cut > low && cut <= high);
    return [low, ...inside].map((from, i): CharRange => [from, (inside[i] ?? high + 1) - 1]);
  });
}

/** The states from which a text can still be ended. */
function livingStates(states: States): Set<Regex> {
  const sources = new Map<Regex, Regex[]>();
  for (const [state, targets] of states) {
    for (const target of targets.keys()) {
      const before = sources.get(target);
      if (before) before.push(state);
      else sources.set(target, [state]);
    }
  }
  const living = new Set([...states.keys()].filter((state) => state.isNullable));
  for (const state of living) for (const source of sources.get(state) ?? []) living.add(source);
  return living;
}

function characters(b: GrammarBuilder, ranges: readonly CharRange[]): Alternative[] {
  const ways: Alternative[] = [];
  const bare = tidy(intersection(ranges, plain));
  if (bare.length > 0) ways.push([b.chars(...bare)]);
  for (const [codePoint, text] of Object.entries(escapes)) {
    if (ranges.some(([low, high]) => Number(codePoint) >= low && Number(codePoint) <= high)) {
      ways.push(b.literal(text));
    }
  }
  return ways;
}

import { RE2JS } from 're2js';
import { describe, expect, test, vi } from 'vitest';
import { createGrammarBuilder } from '../grammar.ts';
import { type Automaton, AutomatonTooLarge, both, createPatterns, ofLength, searchFor } from './automaton.ts';
import { regularRule } from './regular-rule.ts';

/** Every text of up to three of these letters. */
const letters = ['a', 'b', '1', '-', ' ', 'é', '"', '\n'];
const texts = [1, 2, 3].reduce(
  (all) => ['', ...letters.flatMap((letter) => all.map((text) => letter + text))],
  [''],
);

function accepts(automaton: Automaton, text: string): boolean {
  let { start: state } = automaton;
  for (const character of text) {
    if (state === undefined) return false;
    state = automaton.next(state, character.codePointAt(0)!);
  }
  return state !== undefined && automaton.isEnd(state);
}

const ofPattern = (pattern: string) => createPatterns()(pattern)!;

describe('a pattern matches as in JavaScript and RE2', () => {
  test.each([
    '',
    '^',
    '$',
    '^$',
    'a',
    '^a',
    'a$',
    '^a$',
    '^a|b$',
    '(^a|b)1',
    '1(a|b$)',
    '(^|-)a',
    'a(-|$)',
    '^(a|b)*$',
    '^(?:ab|a)+1?$',
    'a{2}',
    '^a{1,2}b{0,1}$',
    '^[^ab]+$',
    '[a-b1-]',
    '[-a]',
    '^[\\w-]+$',
    '^\\d+\\D?$',
    '\\s\\S',
    '^.$',
    '^.*é',
    'a+?b',
    '^(?<name>a)b',
    '\\x61b',
    '^"\\\\?"',
    '()a',
    '^(a|)b$',
    '((a|b)(1|-))',
    '^(^a)',
    '[\\n ]',
    '\\-',
    '^\\W$',
    '\\bb',
    'a\\b-',
    '\\B1',
    'a^b',
    '(a$)?b',
    '\\p{L}1',
    '(a|ab)(1|b1)*$',
  ])('%s', (pattern) => {
    const language = ofPattern(pattern);
    // Outside of Unicode mode, where JavaScript too takes an escaped hyphen for a hyphen.
    const javascript = new RegExp(pattern, pattern === '\\-' ? '' : 'u');
    const re2 = RE2JS.compile(pattern);
    for (const text of texts) {
      expect(accepts(language, text), JSON.stringify(text)).toBe(javascript.test(text));
      expect(re2.matcher(text).find()).toBe(javascript.test(text));
    }
  });
});

test.each([
  ['(?=a)b', 'invalid or unsupported'],
  ['(?<=a)b', 'invalid'],
  ['(a)\\1', 'escape'],
  ['a{3,1}', 'repeat count'],
  ['a{5000}', 'repeat count'],
  ['a**', 'nested repetition'],
  ['(a', 'missing closing )'],
  ['[a', 'missing closing ]'],
  ['a)', 'unexpected )'],
  ['[z-a]', 'class range'],
  ['*', 'missing argument'],
  ['\\', 'trailing backslash'],
])('%s is not supported', (pattern, why) => {
  expect(() => searchFor(pattern, () => {})).toThrow(why);
  expect(createPatterns()(pattern)).toBeNull();
});

test('lengths and several patterns are combined', () => {
  const language = both(both(ofPattern('^a*b*$'), ofPattern('a|^b*$')), ofLength(2, 3));
  const fits = (text: string) => /^(?:a+b*|b+)$/.test(text) && text.length > 1 && text.length < 4;
  expect(texts.filter((text) => accepts(language, text))).toEqual(texts.filter(fits));
  expect(texts.filter(fits).length).toBeGreaterThan(5);
});

test.each([
  ['states', '^[ab]*a[ab]{14}$'],
  ['classes', '^\\p{L}+$'],
])('a pattern with too many %s is rejected', (_, pattern) => {
  expect(() => regularRule(createGrammarBuilder(), ofPattern(pattern))).toThrow(AutomatonTooLarge);
});

test('all patterns of a schema share one time limit', () => {
  const languageOf = createPatterns();
  const write = (pattern: string) => regularRule(createGrammarBuilder(), languageOf(pattern)!);
  write('^a$');
  for (const bound of [30, 31]) expect(() => write(`[a-z].{0,${bound}}x`)).toThrow(AutomatonTooLarge);
  // Nothing is left for one that would be easy.
  expect(() => write('^b$')).toThrow(AutomatonTooLarge);
});

test.each([
  ['^[a-h](?:(?:x?y?){500})$', '', 'a'],
  ['^(?:a|b)\\b(?:(?:-?:?){500})$', 'a', '!'],
])('the positions that become reachable in %s count as work', (pattern, before, letter) => {
  let work = 0;
  const automaton = searchFor(pattern, (positions) => (work += positions));
  let state = automaton.start;
  for (const each of before) state = automaton.next(state, each.codePointAt(0)!);
  const workOf = () => {
    const done = work;
    automaton.next(state, letter.codePointAt(0)!);
    return work - done;
  };
  expect(workOf()).toBeGreaterThan(1_000);
  // Cached states cost little.
  expect(workOf()).toBe(1);
});

test('a pattern is compiled once, and none after the limit of the schema', () => {
  const compile = vi.spyOn(RE2JS, 'compile');
  const languageOf = createPatterns();
  for (let i = 0; i < 3; i++) languageOf('^a\\d?$');
  expect(compile).toHaveBeenCalledTimes(1);
  expect(() => regularRule(createGrammarBuilder(), languageOf('[a-z].{0,31}x')!)).toThrow(AutomatonTooLarge);
  compile.mockClear();
  for (let i = 0; i < 3; i++) expect(() => languageOf('^b$')).toThrow(AutomatonTooLarge);
  expect(compile).not.toHaveBeenCalled();
  compile.mockRestore();
});

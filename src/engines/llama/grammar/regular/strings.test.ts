import { RE2JS } from 're2js';
import { describe, expect, test } from 'vitest';
import { type Regex, RegexTooLarge } from './regex.ts';
import { createGrammarBuilder } from '../grammar.ts';
import { regularRule } from './regular-rule.ts';
import { createStrings } from './strings.ts';

/** Every text of up to three of these letters. */
const letters = ['a', 'b', '1', '-', ' ', 'é', '"', '\n'];
const texts = [1, 2, 3].reduce(
  (all) => ['', ...letters.flatMap((letter) => all.map((text) => letter + text))],
  [''],
);

describe('a pattern means what JavaScript and RE2 say it means', () => {
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
  ])('%s', (pattern) => {
    const { ofPattern, matches } = createStrings();
    const language = ofPattern(pattern) as Regex;
    if (pattern === '^(^a)') return expect(language).toHaveProperty('unheld');
    // Outside of Unicode mode, where JavaScript too takes an escaped hyphen for a hyphen.
    const javascript = new RegExp(pattern, pattern === '\\-' ? '' : 'u');
    const re2 = RE2JS.compile(pattern);
    for (const text of texts) {
      expect(matches(language, text), JSON.stringify(text)).toBe(javascript.test(text));
      expect(re2.matcher(text).find()).toBe(javascript.test(text));
    }
  });
});

test.each([
  ['(?=a)b', 'looks around'],
  ['(?i)a', 'flags'],
  ['\\bword', '\\b'],
  ['(a)\\1', '\\1'],
  ['\\p{L}', '\\p'],
  ['a^b', 'in the middle'],
  ['(a$)?b', 'in the middle'],
  ['a{3,1}', 'wrong order'],
  ['a{5000}', 'above 2000'],
  ['a**', 'behind a quantifier'],
  ['(a', 'unclosed'],
  ['[a', 'unclosed'],
  ['a)', 'bare )'],
  ['[z-a]', 'wrong order'],
  ['[[:alpha:]]', 'named class'],
  ['*', 'bare *'],
  ['a{,2}', 'opens no quantifier'],
  ['\\', 'lone backslash'],
])('%s is not followed', (pattern, why) => {
  const language = createStrings().ofPattern(pattern);
  expect(language).toHaveProperty('unheld');
  expect((language as { unheld: string }).unheld).toContain(why);
});

test('lengths, opposites and several patterns are taken together', () => {
  const { regexes, ofPattern, matches } = createStrings();
  const language = regexes.all([
    ofPattern('^a*b*$') as Regex,
    regexes.not(ofPattern('bb') as Regex),
    regexes.repeat(regexes.anyCharacter, 2, 3),
  ]);
  expect(texts.filter((text) => matches(language, text))).toEqual(
    ['aaa', 'aab', 'aa', 'ab'].toSorted(byText),
  );
});

const byText = (a: string, b: string): number => texts.indexOf(a) - texts.indexOf(b);

test('a pattern with too many states is given up', () => {
  const { regexes, ofPattern } = createStrings();
  const explosive = ofPattern('^[ab]*a[ab]{14}$') as Regex;
  expect(() => regularRule(createGrammarBuilder(), regexes, explosive)).toThrow(RegexTooLarge);
});

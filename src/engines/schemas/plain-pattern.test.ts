import { RE2JS } from 're2js';
import { expect, it } from 'vitest';
import { plainPattern } from './plain-pattern.ts';

const filler = '[^\\x00-\\x1F\\x22\\x5C\\x7F]';

it.each([
  ['^abc$', '^abc$'],
  ['^\\d{3}-\\d+$', '^[0-9]{3}-[0-9]+$'],
  ['^[\\w.-]+@\\w*$', '^[0-9A-Z\\x5Fa-z\\x2E\\x2D]+@[0-9A-Z\\x5Fa-z]*$'],
  ['^\\.\\/\\-\\$$', '^[\\x2E]/-[\\x24]$'],
  ['^(?:a|b)(?<n>c)(?P<m>d)$', '^(a|b)(c)(d)$'],
  ['^a$|^b$', '^(a|b)$'],
  ['^$|^a$', '^(|a)$'],
  ['^a+?b*?c??$', '^a+b*c?$'],
  ['^\\u0041\\x42$', '^AB$'],
  ['^a\\sb$', '^a[\\x20]b$'],
  ['^.$', `^${filler}$`],
  ['^[\\s\\S]$', `^${filler}$`],
  ['^[!-~]$', '^[\\x21\\x23-\\x5B\\x5D-\\x7E]$'],
  ['^[^a]$', '^[^a\\x00-\\x1F\\x22\\x5C\\x7F]$'],
  ['^[é-ü]ß😀$', '^[é-ü]ß😀$'],
  ['^(?!\\.)(?!.*\\.\\.)[a-z]+$', '^[a-z]+$'],
  ['^(?!^[-+.]*$)[+-]?\\d(?<=[)(]|\\))$', '^[\\x2B\\x2D]?[0-9]$'],
  ['abc', `^${filler}*abc${filler}*$`],
  ['^abc', `^abc${filler}*$`],
  ['a$|^b', `^(${filler}*a|b${filler}*)$`],
])('%s is %s', (pattern, plain) => {
  expect(plainPattern(pattern)).toBe(plain);
});

it.each([
  '(a)\\1',
  '(?=a',
  '(?=a)*b',
  '\\bab',
  '\\p{L}',
  '(?i)a',
  'a{1001}',
  'a{0,2000}',
  'a**',
  'a*+',
  'a{2}{3}',
  '"',
  '\\\\',
  '\\n',
  '["]',
  '[\\n]',
  '[]a]',
  '[[:alpha:]]',
  '[z-a]',
  '[\\Wa]',
  '(a',
  'a)',
  '[a',
  'a\\',
  '*',
  'a(^b)',
  'a^',
  'a$b',
  '(a$)',
  'a{',
  '\\Z',
  '\\A',
  '\\0',
  '[\\b]',
  '\\ud83d',
])('%s has no plain form', (pattern) => {
  expect(plainPattern(pattern)).toBeNull();
});

it('matches only texts that the pattern matches', () => {
  const parts = [
    'a',
    'ab',
    '.',
    '\\d',
    '\\w',
    '\\s',
    '\\S',
    '\\W',
    '[ab]',
    '[^a]',
    '(a|b)',
    '(?:ab)?',
    'a*',
    '[a-c]{2}',
    'é',
    '\\.',
    '-',
    '[\\s\\S]',
  ];
  const characters = ['', 'a', 'b', '1', ' ', '.', '-', 'é'];
  const texts = characters.flatMap((x) => characters.flatMap((y) => characters.map((z) => x + y + z)));
  let matched = 0;
  for (const one of parts)
    for (const two of parts)
      for (const pattern of [`^${one}${two}$`, `${one}${two}`, `^${one}|${two}$`]) {
        const plain = new RegExp(plainPattern(pattern)!, 'u');
        const own = RE2JS.compile(pattern);
        const found = texts.filter((text) => plain.test(text));
        expect(found, pattern).toEqual(texts.filter((text) => own.matcher(text).find()));
        matched += found.length;
      }
  expect(matched).toBeGreaterThan(10_000);
});

import { expect, it } from 'vitest';
import { cleanLine, cleanText, shorten } from './clean-text.ts';

it.each([
  ['\u001b[31mred\u001b[0m', 'red'],
  ['\u001b]0;title\u0007x', 'x'],
  ['a\rb\bc\u0000d', 'abcd'],
  ['a\u009b31mb', 'ab'],
  ['evil\u202Egpj.exe', 'evilgpj.exe'],
  ['zero\u200bwidth\ufeff', 'zerowidth'],
  ['日本 👩\u200d💻', '日本 👩\u200d💻'],
])('makes %j harmless', (text, clean) => expect(cleanLine(text)).toBe(clean));

it('keeps lines apart only where lines are wanted', () => {
  expect(cleanText('a\nb\tc')).toBe('a\nb\tc');
  expect(cleanLine('a\n\tb')).toBe('a b');
});

it('shortens to a width', () => expect([shorten('abc', 3), shorten('abcd', 3)]).toEqual(['abc', 'ab…']));

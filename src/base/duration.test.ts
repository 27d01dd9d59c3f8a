import { expect, it } from 'vitest';
import { formatDuration, formatExactDuration, parseDuration } from './duration.ts';
import { nearestWord } from './nearest-word.ts';

it.each([
  ['250ms', 250],
  ['25s', 25_000],
  ['1.5m', 90_000],
  ['24h', 86_400_000],
  ['30 d', 2_592_000_000],
  ['30', undefined],
  ['-1s', undefined],
  ['1s2s', undefined],
  ['', undefined],
])('reads %j', (text, ms) => expect(parseDuration(text)).toBe(ms));

it.each([
  [86_400_000, '24h'],
  [172_800_000, '48h'],
  [5_400_000, '90m'],
  [2000, '2s'],
  [1500, '1500ms'],
])('names %d ms %j, and reads that again', (ms, text) => {
  expect(formatExactDuration(ms)).toBe(text);
  expect(parseDuration(text)).toBe(ms);
});

it.each([
  [900, '1s'],
  [-5, '0s'],
  [59_999, '1m 00s'],
  [125_000, '2m 05s'],
  [12_000_000, '3h 20m'],
  [187_200_000, '2d 4h'],
])('tells %d ms as %j', (ms, text) => expect(formatDuration(ms)).toBe(text));

it.each([
  ['prot', 'port'],
  ['HOST', 'host'],
  ['hots', 'host'],
  ['database', undefined],
  ['x', undefined],
])('suggests for %j: %j', (word, nearest) => expect(nearestWord(word, ['host', 'port'])).toBe(nearest));

import { describe, expect, test } from 'vitest';
import { createStopFilter, possibleStart } from './stop.ts';

/** Runs a text through the filter in pieces of `size` characters. */
function filtered(text: string, stops: string[], size: number): { text: string; isStopped: boolean } {
  const filter = createStopFilter(stops);
  let out = '';
  for (let at = 0; at < text.length; at += size) {
    const step = filter.push(text.slice(at, at + size));
    out += step.text;
    if (step.isStopped) return { text: out, isStopped: true };
  }
  return { text: out + filter.end(), isStopped: false };
}

describe('a text is cut at its first stop string, however it is cut into pieces', () => {
  test.each([
    ['one END two', ['END'], 'one ', true],
    ['ababac', ['abac'], 'ab', true],
    ['x\n\nHuman: y', ['\nHuman', '\n\n'], 'x', true],
    ['EN EN ENE', ['END'], 'EN EN ENE', false],
    ['nothing', [], 'nothing', false],
  ])('%j at %j', (text, stops, expected, isStopped) => {
    for (let size = 1; size <= text.length; size++) {
      expect(filtered(text, stops, size)).toEqual({ text: expected, isStopped });
    }
  });
});

test('only what may begin a stop string is held back', () => {
  const filter = createStopFilter(['END']);
  expect(filter.push('the E')).toEqual({ text: 'the ', isStopped: false });
  expect(filter.push('N')).toEqual({ text: '', isStopped: false });
  expect(filter.push('!')).toEqual({ text: 'EN!', isStopped: false });
  expect(possibleStart('a<tool', ['<tool_call>'])).toBe(5);
  expect(possibleStart('a<tool_call>', ['<tool_call>'])).toBe(0);
});

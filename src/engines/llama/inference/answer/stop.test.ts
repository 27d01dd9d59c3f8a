import { describe, expect, test } from 'vitest';
import { possibleStart } from '../../../../base/possible-start.ts';
import { createStopFilter } from './stop.ts';

/** Runs a text through the filter in pieces of `size` characters. */
function filtered(text: string, stops: string[], size: number): { text: string; stop: string | undefined } {
  const filter = createStopFilter(stops);
  let out = '';
  for (let at = 0; at < text.length; at += size) {
    const step = filter.push(text.slice(at, at + size));
    out += step.text;
    if (step.stop !== undefined) return { text: out, stop: step.stop };
  }
  return { text: out + filter.end(), stop: undefined };
}

describe('a text is cut at its first stop string, however it is cut into pieces', () => {
  test.each([
    ['one END two', ['END'], 'one ', 'END'],
    ['ababac', ['abac'], 'ab', 'abac'],
    ['x\n\nHuman: y', ['\nHuman', '\n\n'], 'x', '\n\n'],
    ['EN EN ENE', ['END'], 'EN EN ENE', undefined],
    ['nothing', [], 'nothing', undefined],
  ])('%j at %j', (text, stops, expected, stop) => {
    for (let size = 1; size <= text.length; size++) {
      expect(filtered(text, stops, size)).toEqual({ text: expected, stop });
    }
  });
});

test('only what may begin a stop string is held back', () => {
  const filter = createStopFilter(['END']);
  expect(filter.push('the E')).toEqual({ text: 'the ', stop: undefined });
  expect(filter.push('N')).toEqual({ text: '', stop: undefined });
  expect(filter.push('!')).toEqual({ text: 'EN!', stop: undefined });
  expect(possibleStart('a<tool', ['<tool_call>'])).toBe(5);
  expect(possibleStart('a<tool_call>', ['<tool_call>'])).toBe(0);
});

import { expect, test } from 'vitest';
import { echoStripper } from './strip-echo.ts';

test('counts the text after the prompt of each choice, for any pieces', () => {
  const own = echoStripper({ model: 'm', prompt: ['one two', 'three'], n: 2, echo: true });
  const told = (index: number, ...texts: string[]) => texts.map((text) => own({ index, text }));
  expect(told(0, 'one ', 'two and', ' more')).toEqual(['', ' and', ' more']);
  expect(told(1, 'one two', 'one two')).toEqual(['', 'one two']);
  expect(told(3, 'three four')).toEqual([' four']);
  // A server that reported nothing on the prompt.
  expect(told(2, 'four', 'three')).toEqual(['four', 'three']);
});

test('counts all of the text without echo', () => {
  const own = echoStripper({ model: 'm', prompt: 'one' });
  expect(own({ index: 0, text: 'one two' })).toBe('one two');
});

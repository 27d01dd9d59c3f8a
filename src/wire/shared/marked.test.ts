import { expect, it } from 'vitest';
import { marked, unmarked } from './marked.ts';

it.each(['', 'plain', 'Grüße, 世界 🙂', 'two\nlines'])('gives %j back', (text) => {
  expect(unmarked(marked(text))).toBe(text);
});

it.each([undefined, null, 7, '', 'EqQBCg', 'offpeak1.%', 'offpeak1.Zg=g'])(
  'knows %j for none of ours',
  (value) => {
    expect(unmarked(value)).toBeUndefined();
  },
);

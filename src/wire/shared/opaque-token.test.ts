import { expect, it } from 'vitest';
import { encodeToken, decodeToken } from './opaque-token.ts';

it.each(['', 'plain', 'Grüße, 世界 🙂', 'two\nlines'])('round-trips %j', (text) => {
  expect(decodeToken(encodeToken(text))).toBe(text);
});

it.each([undefined, null, 7, '', 'EqQBCg', 'offpeak1.%', 'offpeak1.Zg=g'])(
  'knows %j for none of ours',
  (value) => {
    expect(decodeToken(value)).toBeUndefined();
  },
);

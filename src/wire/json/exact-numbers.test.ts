import { expect, it } from 'vitest';
import { parseExact } from './exact-numbers.ts';

it.each([
  '{"id":12345678901234567890,"list":[-98765432109876543210]}',
  '{"a":0.1000000000000000055511151231257827}',
  '{"a":1e999,"b":-1E+400}',
  '{"text":"12345678901234567890"}',
])('writes %s as it came', (text) => {
  expect(JSON.stringify(parseExact(text))).toBe(text);
});

it('leaves exact numbers unchanged', () => {
  expect(parseExact('{"a":9007199254740991,"b":0.1,"c":1e10,"d":12345678901234567890}')).toMatchObject({
    a: 9_007_199_254_740_991,
    b: 0.1,
    c: 1e10,
  });
  expect(() => parseExact('{"a":')).toThrow(SyntaxError);
});

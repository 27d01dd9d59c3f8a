import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { type Shape, hasOtherMembers, pickMembers } from './pick-members.ts';

const shape: Shape = new Map<string, Shape>([
  ['a', 'anything'],
  ['b', new Map<string, Shape>([['c', new Map([['d', 'anything' as const]])]])],
]);

/** The plain way: over the value. */
function picked(value: unknown, allowed: Shape): unknown {
  if (allowed === 'anything' || typeof value !== 'object' || value === null) return value;
  if (Array.isArray(value)) return value.map((item) => picked(item, allowed));
  const kept = Object.entries(value).filter(([name]) => allowed.has(name));
  return Object.fromEntries(kept.map(([name, inner]) => [name, picked(inner, allowed.get(name)!)]));
}

describe('pickMembers', () => {
  it.each([
    [
      '{ "a" : 1.0, "b":{"c":{"d":12345678901234567890}} }',
      '{ "a" : 1.0, "b":{"c":{"d":12345678901234567890}} }',
    ],
    ['{"a":1.0,"x":2}', '{"a":1.0}'],
    ['{"b":{"c":[{"d":1e400,"x":1},{"d":2.50}, 3]}}', '{"b":{"c":[{"d":1e400},{"d":2.50},3]}}'],
    ['{"b":[{"x":1},{"c":{"d":{"x":1}}}]}', '{"b":[{},{"c":{"d":{"x":1}}}]}'],
    ['{"\\u0061":1,"\\u0078":2}', '{"\\u0061":1}'],
    ['{"constructor":1,"toString":2,"__proto__":{"a":1},"a":3}', '{"a":3}'],
    ['{"A":1}', '{}'],
  ])('%s becomes %s', (text, expected) => {
    const value: unknown = JSON.parse(text);
    expect(pickMembers(text, value, shape)).toBe(expected);
    expect(hasOtherMembers(value, shape)).toBe(text !== expected);
  });

  it('equals picking from the value', () => {
    const keys = fc.constantFrom('a', 'b', 'c', 'd', 'x', 'a"b');
    const { tree } = fc.letrec<{ tree: unknown }>((tie) => ({
      tree: fc.oneof(
        { maxDepth: 5, depthSize: 'medium' },
        fc.jsonValue({ maxDepth: 0 }),
        fc.array(tie('tree'), { maxLength: 4 }),
        fc.dictionary(keys, tie('tree')),
      ),
    }));
    fc.assert(
      fc.property(tree, fc.constantFrom(0, 2), (value, indent) => {
        const parsed: unknown = JSON.parse(JSON.stringify(value));
        const text = JSON.stringify(parsed, null, indent);
        expect(JSON.parse(pickMembers(text, parsed, shape))).toEqual(picked(parsed, shape));
      }),
    );
  });
});

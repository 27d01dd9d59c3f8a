import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { editMembers } from './edit-members.ts';

describe('editMembers', () => {
  it.each([
    ['{"a":1,"model":"x","b":[1,{"model":2}]}', { model: '"y"' }, '{"a":1,"model":"y","b":[1,{"model":2}]}'],
    ['{ "model" : "x" }', { model: '"y"' }, '{ "model" : "y" }'],
    ['{"a":1}', { model: '"y"' }, '{"model":"y","a":1}'],
    ['{}', { model: '"y"' }, '{"model":"y"}'],
    ['{"a":1,"b":2,"c":3}', { a: null, b: null }, '{"c":3}'],
    ['{"a":1, "b":2, "c":3}', { c: null, b: null }, '{"a":1}'],
    ['{"a":1}', { a: null }, '{}'],
    ['{"a":"}, {","b":2}', { b: '[]', z: null }, '{"a":"}, {","b":[]}'],
    [' {"a":1} ', { b: 'null' }, ' {"b":null,"a":1} '],
    ['{"constructor":1,"toString":2,"a":3}', { a: null }, '{"constructor":1,"toString":2}'],
  ])('%s with %j', (text, edits: Record<string, string | null>, expected) => {
    expect(editMembers(text, new Map(Object.entries(edits)))).toBe(expected);
  });

  it('equals editing the value', () => {
    const names = fc.constantFrom('model', 'stream', 'messages', 'user', 'é', 'a"b');
    const documents = fc.dictionary(names, fc.jsonValue({ maxDepth: 3 }));
    const changes = fc.dictionary(names, fc.option(fc.jsonValue({ maxDepth: 2 })));
    fc.assert(
      fc.property(documents, changes, fc.constantFrom(0, 2), (document, change, indent) => {
        const expected: Record<string, unknown> = { ...document };
        const edits = new Map<string, string | null>();
        for (const [name, value] of Object.entries(change)) {
          edits.set(name, value === null ? null : JSON.stringify(value));
          if (value === null) delete expected[name];
          else expected[name] = value;
        }
        const text = JSON.stringify(document, null, indent);
        expect(JSON.parse(editMembers(text, edits))).toEqual(JSON.parse(JSON.stringify(expected)));
      }),
    );
  });
});

import { describe, expect, it } from 'vitest';
import { editBody, editedText } from './edit-body.ts';
import { builtBody } from './json-body.ts';

const value = { model: 'm', 'a "quoted" name': [1, { b: null }], left: undefined, n: 2 };
const edits = new Map([
  ['model', '"other"'],
  ['n', null],
  ['gone', null],
  ['added', '0.10'],
]);
const expected = '{"model":"other","a \\"quoted\\" name":[1,{"b":null}],"added":0.10}';

describe('a built body', () => {
  it('has the text of its value', () => {
    expect(builtBody(value).text).toBe(JSON.stringify(value));
  });

  it('has the text of its edits, like a received body', () => {
    expect(editedText(builtBody(value), edits)).toBe(expected);
    const came = { value, text: JSON.stringify(value) };
    expect(JSON.parse(editedText(came, edits))).toEqual(JSON.parse(expected));
  });

  it('accepts new members, and may lose all', () => {
    expect(editedText(builtBody({}), edits)).toBe('{"model":"other","added":0.10}');
    expect(editedText(builtBody({ n: 1 }), new Map([['n', null]]))).toBe('{}');
  });

  it('stays built when members change, and the same object when none do', () => {
    const body = builtBody(value);
    expect(editBody(body, { n: 2 })).toBe(body);
    const changed = editBody(body, { n: 3 });
    expect(changed.value).toEqual({ ...value, n: 3 });
    expect(editedText(changed, new Map())).toBe(JSON.stringify({ ...value, n: 3 }));
  });
});

import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { scanJson } from './scan.ts';

const anyJson = fc.jsonValue({ maxDepth: 5 });
const anyObject = fc.dictionary(fc.string(), anyJson);
/** JSON text with white space between its tokens. */
const spaced = (value: unknown) => JSON.stringify(value, null, 3).replaceAll('\n', '\r\n\t');

describe('scanJson', () => {
  it('finds the exact text of every top-level member of any object', () => {
    fc.assert(
      fc.property(anyObject, fc.boolean(), (object, pretty) => {
        const text = pretty ? spaced(object) : JSON.stringify(object);
        const scan = scanJson(text);
        expect(scan.closed).toBe(true);
        expect(scan.duplicate).toBeUndefined();
        const read = scan.members.map(({ name, start, end }) => [name, JSON.parse(text.slice(start, end))]);
        expect(read).toEqual(Object.entries(JSON.parse(text) as object));
      }),
    );
  });

  it('counts the values of any text and closes on every one', () => {
    const count = (value: unknown): number =>
      value !== null && typeof value === 'object'
        ? Object.values(value).reduce<number>((sum, inner) => sum + count(inner), 1)
        : 1;
    fc.assert(
      fc.property(anyJson, (value) => {
        const scan = scanJson(JSON.stringify(value));
        expect([scan.closed, scan.nodes]).toEqual([true, count(JSON.parse(JSON.stringify(value)))]);
      }),
    );
  });

  it('finds the elements of the top-level array only', () => {
    fc.assert(
      fc.property(fc.array(anyJson), fc.array(anyJson), fc.boolean(), (some, others, pretty) => {
        const list = [...some, others, { inner: others }];
        const text = pretty ? spaced(list) : JSON.stringify(list);
        const { elements, members } = scanJson(text);
        const read = elements.map(({ start, end }) => JSON.parse(text.slice(start, end)) as unknown);
        expect(read).toEqual(JSON.parse(JSON.stringify(list)));
        expect(members).toEqual([]);
        expect(scanJson(`{"list":${text}}`).elements).toEqual([]);
      }),
    );
  });

  it.each([
    ['[{"a":1},]', ['{"a":1}', '']],
    ['[,1]', ['', '1']],
    ['[1,,2]', ['1', '', '2']],
    ['[ ]', []],
    ['{"a":[1]}', []],
    ['[{"a":1}{"b":2}]', ['{"a":1}{"b":2}']],
  ])('gives what is missing in %s as text that does not parse', (text, elements) => {
    expect(scanJson(text).elements.map(({ start, end }) => text.slice(start, end))).toEqual(elements);
  });

  it.each([
    ['{"a":1,"a":2}', 'a'],
    ['{"a":{"b":1,"c":{},"b":3}}', 'b'],
    ['[{"a":1},{"x":1,"x":2}]', 'x'],
    ['{"\\u0061":1,"a":2}', 'a'],
    ['{"a\\"":1,"a\\u0022":2}', 'a"'],
    ['{"":1,"":2}', ''],
    ['{"__proto__":1,"__proto__":2}', '__proto__'],
  ])('B23: finds the key that stands twice in %s', (text, key) => {
    expect(scanJson(text).duplicate?.key).toBe(key);
  });

  it('B23: finds a duplicate among many keys, but not among similar ones', () => {
    const keys = Array.from({ length: 500 }, (_, at) => `"key${at}":${at}`);
    expect(scanJson(`{${keys.join(',')}}`).duplicate).toBeUndefined();
    expect(scanJson(`{${keys.join(',')},"key7":0}`).duplicate?.key).toBe('key7');
    expect(scanJson('{"a":"a","b":{"a":["a"]},"A":1}').duplicate).toBeUndefined();
  });

  it('B24: stops at the bracket that is one too deep', () => {
    const nested = (levels: number) => '['.repeat(levels) + ']'.repeat(levels);
    expect(scanJson(nested(64)).limit).toBeUndefined();
    expect(scanJson(nested(65)).limit).toEqual({ code: 'too_deep', at: 64 });
    expect(scanJson('{"a":'.repeat(1_000_000)).limit?.code).toBe('too_deep');
    expect(scanJson('["[[[["]', { maxDepth: 1 }).limit).toBeUndefined();
  });

  it('B28: stops at too many values, brackets or not', () => {
    expect(scanJson(`[${'{},'.repeat(300_000)}{}]`).limit?.code).toBe('too_many_nodes');
    expect(scanJson(`[${'1,'.repeat(300_000)}1]`).limit?.code).toBe('too_many_nodes');
    expect(scanJson('[1,2,3]', { maxNodes: 4 }).limit).toBeUndefined();
    expect(scanJson('[1,2,3]', { maxNodes: 3 }).limit?.code).toBe('too_many_nodes');
  });

  it('bounds the keys of one object even where values are not counted', () => {
    const keys = Array.from({ length: 250_000 }, (_, at) => `"${at}":0`);
    expect(scanJson(`{${keys.join(',')}}`, { maxNodes: Infinity }).limit?.code).toBe('too_many_nodes');
  });

  it.each(['{', '[1', '{"a', '{"a":1]', '[}', ']', '"open', '{"a":"\\"}'])('is not closed by %s', (text) => {
    expect(scanJson(text).closed).toBe(false);
  });

  it('never loops or throws, whatever the text', () => {
    fc.assert(
      fc.property(fc.string({ unit: fc.constantFrom(...'{}[]:,"\\ \n1at'.split('')) }), (text) => {
        const scan = scanJson(text);
        let parses = true;
        try {
          JSON.parse(text);
        } catch {
          parses = false;
        }
        // Text that parses is closed, and unclosed text does not parse.
        expect(scan.closed || !parses).toBe(true);
      }),
      { numRuns: 2_000 },
    );
  });
});
